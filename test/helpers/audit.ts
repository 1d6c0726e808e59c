import { expect } from 'bun:test';
import type { AuditEntry } from '../../sdk/index.ts';
import type { AccountClient, Query } from './clients.ts';

/** A page of the security log of an account, newest first; fails unless the answer is 200. */
export async function entriesOf(account: AccountClient, query: Query = {}): Promise<AuditEntry[]> {
  const answer = await account.send('GET', '/audit/', { query });
  expect(answer.outcome).toBe('200');
  return answer.as<AuditEntry[]>();
}

/** An audit entry in one line: action, outcome and object. */
export function lineOf({ action, outcome, object }: AuditEntry): string {
  return [action, outcome, ...(object === undefined ? [] : [object])].join(' ');
}
