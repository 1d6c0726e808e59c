import { expect } from 'bun:test';
import type { Tree } from '../../sdk/index.ts';
import type { AccountClient, Answer, Query } from './clients.ts';

/** Key and token of each item of a tree, in its order. */
export function namesOf(tree: Tree): string[] {
  return Object.entries(tree).flatMap(([user, items]) => items.map(({ token }) => `${user} ${token}`));
}

/** Walks a listing page by page; `between` runs after each page but the last. */
export async function walk(
  client: AccountClient,
  query: Query,
  between: (page: string[]) => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const walked: string[] = [];
  let next: string | null = null;
  do {
    const answer: Answer = await client.send('GET', '/vault/', {
      query: { ...query, next_token: next ?? undefined },
    });
    expect(answer.outcome).toBe('200');
    const page = namesOf(answer.as<Tree>());
    if (typeof query['limit'] === 'number' && query['limit'] > 0) {
      expect(page.length).toBeLessThanOrEqual(query['limit']);
    }
    walked.push(...page);
    next = answer.headers.get('x-vault-next-token');
    if (next !== null) {
      await between(page);
    }
  } while (next !== null);
  return walked;
}
