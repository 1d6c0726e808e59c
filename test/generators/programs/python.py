import os
import openapi_client
from openapi_client import CreateKey, KeyApi, VaultApi

settings = openapi_client.Configuration(
    host=os.environ["VAULT_URL"], username=os.environ["VAULT_NAME"], password=os.environ["VAULT_PASSWORD"]
)
with openapi_client.ApiClient(settings) as client:
    key = KeyApi(client).create_key(CreateKey(key="python"))
    vault = VaultApi(client)
    card = {"card_number": os.environ["CARD"], "expiry": "12/29"}
    stored = vault.store_item("python", card, x_vault_passphrase=key.passphrase)
    tree = vault.read_items(key="python")
    item = vault.read_items(key="python", token=stored.token, x_vault_passphrase=key.passphrase)
print(f"{len(tree['python'])} listed, decrypted {item['card_number']}")
