/** What the thread that speaks HTTP ever has of a sealed capture. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AccountClient } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { postSealed, sealingKey } from '../../helpers/sealing.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

/** A number that no other test has, as this process may know it until the search: in two parts. */
const SEALED_PARTS = ['63311019', '99990016'] as const;
const OPEN_NUMBER = '4111111111111111';

let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;
/** Copies of what was sent to the threads: a sent buffer is gone. */
const frames: Buffer[] = [];

const { postMessage } = Worker.prototype;
const spy = spyOn(Worker.prototype, 'postMessage').mockImplementation(function post(
  this: Worker,
  frame: unknown,
  moved?: readonly ArrayBuffer[],
) {
  frames.push(Buffer.from(new Uint8Array(frame as ArrayBuffer)));
  postMessage.call(this, frame, moved as ArrayBuffer[]);
});

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
});
afterAll(async () => {
  spy.mockRestore();
  await vault.close();
});

/** Seals in a process of its own, so that this one never has the body. */
async function sealElsewhere(key: object): Promise<string> {
  const program = `
    import { sealFor } from ${JSON.stringify(join(import.meta.dir, '../../helpers/sealing.ts'))};
    const [key, ...parts] = process.argv.slice(1);
    console.log(await sealFor(JSON.parse(key), ['shop'], { card_number: parts.join(''), cvv: '737' }));
  `;
  const child = Bun.spawn([process.execPath, '-e', program, JSON.stringify(key), ...SEALED_PARTS], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (await child.stdout.text()).trim();
}

test('a number that was sealed is in no job for a thread, and in no text of this one', async () => {
  await capture(vault, shop, { body: { card_number: OPEN_NUMBER } });
  const sealed = await sealElsewhere(await sealingKey(vault));
  const answer = await postSealed(vault, shop, sealed);
  expect(answer.outcome).toBe('200');
  // Every text that this thread's heap holds.
  const texts = Bun.generateHeapSnapshot('v8');
  const sent = Buffer.concat(frames);
  // Only now may this thread know the number.
  const number = SEALED_PARTS.join('');
  expect(sent.includes(OPEN_NUMBER)).toBe(true);
  expect(texts.includes(OPEN_NUMBER)).toBe(true);
  expect(sent.includes(number)).toBe(false);
  expect(texts.includes(number)).toBe(false);
  const { token, reference } = answer.as<{ token: string; reference: string }>();
  expect(JSON.parse(await account.open('u', token, { reference }))).toMatchObject({ card_number: number });
});
