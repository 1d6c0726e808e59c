/** Subscriptions of tests, and what their receivers get. */
import { expect } from 'bun:test';
import type { AccountClient } from '../helpers/clients.ts';
import type { Receiver } from '../helpers/webhook.ts';

const POLL_MS = 10;

export interface Shown {
  readonly id: string;
  readonly types: readonly string[];
  readonly waiting: number;
  readonly failing_since?: string;
  readonly paused_since?: string;
  readonly paused_because?: string;
  readonly left_out?: number;
}

export async function subscribe(
  account: AccountClient,
  receiver: Receiver,
  types: readonly string[],
  more: object = {},
): Promise<Shown> {
  const body = { ...receiver.webhook, types, ...more };
  const made = await account.send('POST', '/event/subscription', { body });
  expect(made.outcome).toBe('200');
  return made.as<Shown>();
}

export async function shown(account: AccountClient, id: string): Promise<Shown> {
  return (await account.send('GET', `/event/subscription/${id}`)).as<Shown>();
}

/** Waits until a receiver has had so many different events; gives their types. */
export async function typesOf(receiver: Receiver, count: number): Promise<readonly unknown[]> {
  const distinct = (): readonly (readonly [unknown, unknown])[] => [
    ...new Map(receiver.events().map(({ json }) => [json['id'], json['type']])),
  ];
  while (distinct().length < count) {
    await Bun.sleep(POLL_MS);
  }
  return distinct().map(([, type]) => type);
}
