// Copied beside the generated client, which is what it imports.
import { Configuration, KeyApi, VaultApi } from './client/index.ts';

const { VAULT_URL, VAULT_NAME, VAULT_PASSWORD, CARD } = process.env;
const settings = new Configuration({
  basePath: VAULT_URL,
  username: VAULT_NAME,
  password: VAULT_PASSWORD,
});
const user = 'typescript-fetch';
const { passphrase } = await new KeyApi(settings).createKey({ createKey: { key: user } });
const vault = new VaultApi(settings);
const card = { card_number: CARD, expiry: '12/29' };
const { token } = await vault.storeItem({ key: user, requestBody: card, xVaultPassphrase: passphrase });
const tree = await vault.readItems({ key: user });
const item = await vault.readItems({ key: user, token, xVaultPassphrase: passphrase });
console.log(`${tree[user].length} listed, decrypted ${item.card_number}`);
