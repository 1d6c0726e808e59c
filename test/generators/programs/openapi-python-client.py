import base64
import os
import sys

sys.path.insert(0, "client")
from cardvault_client import AuthenticatedClient
from cardvault_client.api.key import create_key
from cardvault_client.api.vault import read_items, store_item
from cardvault_client.models import CreateKey, StoredObject

account = f"{os.environ['VAULT_NAME']}:{os.environ['VAULT_PASSWORD']}"
token = base64.b64encode(account.encode()).decode()
user = "openapi-python-client"
with AuthenticatedClient(base_url=os.environ["VAULT_URL"], token=token, prefix="Basic") as client:
    key = create_key.sync(client=client, body=CreateKey(key=user))
    card = StoredObject.from_dict({"card_number": os.environ["CARD"], "expiry": "12/29"})
    stored = store_item.sync(client=client, body=card, key=user, x_vault_passphrase=key.passphrase)
    tree = read_items.sync(client=client, key=user)
    item = read_items.sync(client=client, key=user, token=stored.token, x_vault_passphrase=key.passphrase)
print(f"{len(tree[user])} listed, decrypted {item['card_number']}")
