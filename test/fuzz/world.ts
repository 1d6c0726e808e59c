/** A vault with something of everything in it, and two accounts: one to work with, one to be changed. */

import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import type { TestVault } from '../helpers/vault.ts';
import type { Chance } from './chance.ts';

const CARD = '4111111111111111';
const CARDS = 8;

type Texts = readonly [string, ...string[]];

export interface World {
  readonly vault: TestVault;
  readonly owner: AccountClient;
  /** Its keys, passphrases and password change under the cases. */
  readonly victim: AccountClient;
  /** Texts that fit parameters and members of these names, mostly of one item. */
  readonly fitting: (chance: Chance, kind: 'capture' | 'retrieve') => ReadonlyMap<string, Texts>;
  /** Paths of endpoints with their secrets. */
  readonly secrets: { readonly capture: string; readonly retrieve: string };
}

async function storeCards(owner: AccountClient): Promise<readonly Texts[]> {
  return Promise.all(
    Array.from({ length: CARDS }, async (_, n): Promise<Texts> => {
      const data = { card_number: CARD, expiry: '12/29', cvv: '123', n };
      const reference = `order-${n}`;
      return [await owner.store('shop', data, { reference, algorithm: 'uuid' }), reference];
    }),
  );
}

/** Adds two accounts to a vault, with something of everything. */
export async function openWorld(vault: TestVault): Promise<World> {
  const [owner, victim] = await Promise.all([vault.account(), vault.account()]);
  await Promise.all([owner.key('shop'), victim.key('shop')]);
  const { capture, retrieve, rules, forms, certificates } = owner.sdkWith({ passphrase: PASSPHRASE });
  const [first, ...others] = await storeCards(owner);
  const operation = { name: 'substr', input_field: 'expiry', output_field: 'year', arguments: { start: -2 } };
  const rule = await rules.create({ id: 'short', operations: [operation] });
  const [capturing, reading] = [
    await capture.create({ user: 'shop' }),
    await retrieve.create({ user: 'shop' }),
  ];
  const form = await forms.create({ form_type: 'pcd' });
  const csr = await certificates.createCsr({ cn: 'shop.example' });
  const { next_token = '' } = await owner.sdk.vault.list({ user: 'shop', limit: 2 });
  const fixed: readonly (readonly [string, Texts])[] = [
    ['user', ['shop', 'shop', 'shop', 'shop', 'shop', 'nobody']],
    ['form_id', [form.id, form.id, 'none']],
    ['id', [rule.id, csr.id, 'none']],
    ['csr_id', [csr.id, 'none']],
    ['rules', [rule.id, '["short"]', rule.id, 'none']],
    ['next_token', [next_token, next_token, 'AAAA']],
    ['key', ['default_limit', 'default_algorithm', 'mine']],
    ['requester_id', ['sim', 'none']],
    ['passphrase', [PASSPHRASE, PASSPHRASE, 'another passphrase']],
    ['new_passphrase', [PASSPHRASE]],
    ['new_password', [victim.password]],
  ];
  return {
    vault,
    owner,
    victim,
    secrets: { capture: capturing.secret, retrieve: reading.secret },
    fitting: (chance, kind) => {
      const [token, reference = ''] = chance.pick([first ?? [''], ...others]);
      const id = kind === 'capture' ? capturing.unique_id : reading.unique_id;
      const texts = (fits: string, other: string): Texts => [fits, fits, fits, fits, fits, other];
      return new Map<string, Texts>([
        ...fixed,
        ['token', texts(token, 'unknown')],
        ['reference', texts(reference, 'unknown')],
        ['unique_id', texts(id, 'unknown')],
      ]);
    },
  };
}
