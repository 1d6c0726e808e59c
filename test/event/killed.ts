/** Stores of an account with a subscription, and the death of their server in the middle. */
import { newMortalVault } from '../durability/server.ts';
import { startThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

const AT_ONCE = 16;
const POLL_MS = 50;
const CARD = { card_number: '4111111111111111' };

/**
 * Stores items, kills server and Redis when half of them are stored, starts another server, and waits until each store that was
 * answered has its event. Returns their number, and of the tokens in events.
 */
export async function killedStores(stores: number) {
  const party = await startThirdParty();
  const vault = newMortalVault((await thirdPartyTrust()).authority.pem);
  try {
    await vault.start();
    const { client } = vault;
    await client.key('u');
    const receiver = createReceiver(party);
    const body = { ...receiver.webhook, types: ['item.created'] };
    const made = await client.send('POST', '/event/subscription', { body });
    if (made.status !== 200) {
      throw new Error(`The vault answered ${made.status} ${made.text}`);
    }
    const stored = new Set<string>();
    let begun = 0;
    let killed: Promise<void> | undefined;
    const store = async (): Promise<void> => {
      while (begun < stores && killed === undefined) {
        begun += 1;
        const token = await client.store('u', CARD, { algorithm: 'uuid' }).catch(() => undefined);
        if (token !== undefined) {
          stored.add(token);
        }
        if (stored.size >= stores / 2) {
          killed ??= vault.kill(true);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, store));
    await killed;
    // Nothing is stored from here on: the next server finds what this one has left.
    await vault.start();
    const told = new Set<unknown>();
    let read = 0;
    while (![...stored].every((token) => told.has(token))) {
      await Bun.sleep(POLL_MS);
      const events = receiver.events();
      for (const { json } of events.slice(read)) {
        told.add(Object(json['data']).token);
      }
      read = events.length;
    }
    return { stored: stored.size, told: told.size, kills: vault.kills.length };
  } finally {
    await vault.remove();
    party.stop();
  }
}
