import type { Question } from './name-servers.ts';

/** What bounds the lookups in flight. */
export interface LookupOptions {
  readonly ask: (name: string) => Question;
  readonly max: number;
  readonly now: () => number;
}

/** Most name servers answer sooner: a lookup of this age may have to make room. */
const PATIENCE_MS = 500;

/**
 * Looks names up, each of them once at a time for all who wait for it, and `max` at a time in all. Beyond that the
 * oldest lookup is given up once it has had time enough, or else the new one fails: names whose servers are silent
 * cannot keep the others out, and nobody waits in a queue.
 */
export const createLookups = ({ ask, max, now }: LookupOptions): ((name: string) => Question['answer']) => {
  // Maps keep the order of insertion, which is that of age.
  const running = new Map<string, Question & { readonly startedAt: number }>();

  const makeRoom = (): boolean => {
    if (running.size < max) {
      return true;
    }
    const [[name, oldest] = []] = running;
    if (name === undefined || oldest === undefined || now() - oldest.startedAt < PATIENCE_MS) {
      return false;
    }
    running.delete(name);
    oldest.giveUp();
    return true;
  };

  return async (name) => {
    const known = running.get(name);
    if (known !== undefined) {
      return known.answer;
    }
    if (!makeRoom()) {
      return undefined;
    }
    const question = { ...ask(name), startedAt: now() };
    running.set(name, question);
    try {
      return await question.answer;
    } finally {
      if (running.get(name) === question) {
        running.delete(name);
      }
    }
  };
};
