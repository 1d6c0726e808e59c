import { promises as dns } from 'node:dns';

/** One question to the name servers. */
export interface Question {
  /** The addresses; undefined when nobody answered in time. Rejects when there are none. */
  readonly answer: Promise<readonly string[] | undefined>;
  /** Ends it, with what came so far. */
  readonly giveUp: () => void;
}

/** How long a question may take, and who is asked instead of the servers of the system. */
export interface QuestionOptions {
  readonly timeoutMs: number;
  readonly servers?: readonly string[] | undefined;
}

/** A server that says nothing for so long is asked again, or the next one; then once more. */
const TRY_MS = 2_000;
const TRIES = 2;
/** Some name servers never answer for the other family; nobody waits for them longer than this. */
const OTHER_FAMILY_MS = 500;

const NOBODY_ANSWERED: ReadonlySet<unknown> = new Set(['ETIMEOUT', 'ECANCELLED']);

const isSilence = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && NOBODY_ANSWERED.has(error.code);

/**
 * Asks for the addresses of a name, IPv4 first, over sockets of this question's own: the system's `getaddrinfo` would
 * hold a thread of the pool that files and compression need too, for as long as a name server pleases, and could not
 * be stopped. Names are taken as they are, without search domains.
 */
export const askNameServers = (name: string, { timeoutMs, servers }: QuestionOptions): Question => {
  const resolver = new dns.Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== undefined) {
    resolver.setServers(servers);
  }
  const giveUp = (): void => resolver.cancel();
  const timers = [setTimeout(giveUp, timeoutMs)];
  const hurry = (found: readonly string[]): readonly string[] => {
    timers.push(setTimeout(giveUp, OTHER_FAMILY_MS));
    return found;
  };
  const gather = async (): Promise<readonly string[] | undefined> => {
    const families = [resolver.resolve4(name), resolver.resolve6(name)];
    const answers = await Promise.allSettled(families.map((family) => family.then(hurry)));
    timers.forEach(clearTimeout);
    const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    const errors = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (found.length > 0 || errors.length === 0) {
      return found;
    }
    if (errors.some(isSilence)) {
      return undefined;
    }
    throw errors[0];
  };
  return { answer: gather(), giveUp };
};
