/** Load whose every acknowledged effect is written down, and what of it is there afterwards. */
import type { Chance } from '../fuzz/chance.ts';
import { type AccountClient, type Answer, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { useEndpoint } from '../helpers/endpoints.ts';
import type { FaultPlace } from './place.ts';

const USER = 'u';
const WRITERS = 12;
const CAPTURE_SHARE = 0.7;
/** Lies apart from the rest of the item. */
const CODE = '123';

/** Where an item is in the order of its changes: the mark that it was given last, or gone; or a part of it is. */
type State = number | 'deleted' | 'without its code';

interface Entry {
  readonly token: string;
  readonly reference: string;
  /** Several where a change ended without an answer: it may have happened, or not. */
  states: readonly State[];
}

/** An item on its way to the vault. */
interface NewItem {
  readonly mark: number;
  readonly body: object;
  readonly query: { readonly reference: string; readonly algorithm: string };
}

interface Endpoint {
  readonly url: string;
  readonly secret: string;
}

/** How requests ended. */
class Ends {
  /** How often each outcome of each kind of request was met. */
  readonly counts = new Map<string, number>();
  /** Writes that were answered with 200. */
  acknowledged = 0;
  slowestMs = 0;
  /** When a write was answered with 200 last, in ms of `performance.now`. */
  lastWrite = 0;

  /** The answer of a request; undefined where it ended without one. */
  async of(name: string, request: Promise<Answer>): Promise<Answer | undefined> {
    const begun = performance.now();
    const answer = await request.catch(() => undefined);
    const now = performance.now();
    const outcome = `${name} ${answer?.outcome ?? 'no answer'}`;
    this.slowestMs = Math.max(this.slowestMs, now - begun);
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + 1);
    if (answer?.status === 200 && name !== 'open') {
      this.acknowledged += 1;
      this.lastWrite = now;
    }
    return answer;
  }
}

export interface Load {
  readonly ends: Ends;
  readonly stop: () => Promise<void>;
  /** What is not as it was acknowledged, as the items of the key tell; empty when all is well. */
  readonly check: () => Promise<string[]>;
}

/** One after another: stores, captures, opens, updates and deletes items of its own, so that their order is known. */
class Writer {
  readonly entries: Entry[] = [];
  /** Marks of stores that ended without an answer. */
  readonly doubtful = new Set<State>();
  readonly #client: AccountClient;
  readonly #handle: Handle;
  readonly #endpoint: Endpoint;
  readonly #ends: Ends;
  readonly #newMark: () => number;

  constructor({ client, handle }: FaultPlace, endpoint: Endpoint, ends: Ends, newMark: () => number) {
    this.#client = client;
    this.#handle = handle;
    this.#endpoint = endpoint;
    this.#ends = ends;
    this.#newMark = newMark;
  }

  async write(chance: Chance): Promise<void> {
    const drawn = chance.int(20);
    const there = this.entries.filter(({ states }) => !states.includes('deleted'));
    const entry = there[chance.int(there.length)];
    if (entry === undefined || drawn < 14) {
      await (chance.hits(CAPTURE_SHARE) ? this.#capture() : this.#store());
    } else if (drawn < 18) {
      const query = this.#nameOf(entry);
      await this.#ends.of('open', this.#client.send('GET', '/vault', { query, passphrase: PASSPHRASE }));
    } else {
      await (drawn === 18 ? this.#update(entry) : this.#delete(entry));
    }
  }

  #nameOf({ token, reference }: Entry) {
    return { user: USER, token, reference };
  }

  #newItem(): NewItem {
    const mark = this.#newMark();
    const body = { number: String(4_000_000_000 + mark), mark, cvv: CODE };
    return { mark, body, query: { reference: `r-${mark}`, algorithm: 'uuid' } };
  }

  #added({ mark, query }: NewItem, answer: Answer | undefined): void {
    if (answer?.status !== 200) {
      this.doubtful.add(mark);
      return;
    }
    const { token } = answer.as<{ token: string }>();
    this.entries.push({ token, reference: query.reference, states: [mark] });
  }

  async #store(): Promise<void> {
    const item = this.#newItem();
    const query = { ...item.query, user: USER };
    const sending = { query, body: item.body, passphrase: PASSPHRASE };
    this.#added(item, await this.#ends.of('store', this.#client.send('POST', '/vault', sending)));
  }

  async #capture(): Promise<void> {
    const item = this.#newItem();
    const { url, secret } = this.#endpoint;
    const use = useEndpoint(this.#handle, 'POST', url, { secret, query: item.query, body: item.body });
    this.#added(item, await this.#ends.of('capture', use));
  }

  async #change(entry: Entry, to: State, name: string, request: Promise<Answer>): Promise<void> {
    entry.states = [...entry.states, to];
    const answer = await this.#ends.of(name, request);
    entry.states = answer?.status === 200 ? [to] : entry.states;
  }

  #update(entry: Entry): Promise<void> {
    const mark = this.#newMark();
    const sending = { query: this.#nameOf(entry), body: { mark }, passphrase: PASSPHRASE };
    return this.#change(entry, mark, 'update', this.#client.send('POST', '/vault/update', sending));
  }

  #delete(entry: Entry): Promise<void> {
    const query = this.#nameOf(entry);
    return this.#change(entry, 'deleted', 'delete', this.#client.send('DELETE', '/vault', { query }));
  }
}

/** The marks of all items of the key, by their tokens. */
async function marksOf({ sdk }: AccountClient): Promise<Map<string, State>> {
  const marks = new Map<string, State>();
  for await (const { token, data } of sdk.vault.decryptAll({ user: USER, passphrase: PASSPHRASE })) {
    marks.set(token, data['cvv'] === CODE ? Number(data['mark']) : 'without its code');
  }
  return marks;
}

function differences(writers: readonly Writer[], found: ReadonlyMap<string, State>): string[] {
  const entries = writers.flatMap((writer) => writer.entries);
  const known = new Set(entries.map(({ token }) => token));
  const wrong = entries.flatMap(({ token, states }) => {
    const state = found.get(token) ?? 'deleted';
    return states.includes(state) ? [] : [`${token} is ${state}, not ${states.join(' or ')}`];
  });
  const others = [...found].filter(([token]) => !known.has(token));
  const unasked = others.filter(([, mark]) => !writers.some(({ doubtful }) => doubtful.has(mark)));
  // A store that ended without an answer may have made an item, and not two.
  const twice = others.filter(([, mark], at) => others.findIndex(([, other]) => other === mark) < at);
  return [
    ...wrong,
    ...unasked.map(([token, mark]) => `${token} (${mark}) was never stored`),
    ...twice.map(([token, mark]) => `${token} (${mark}) is there twice`),
  ];
}

/** Makes a key and a capture endpoint, and writes to them without a pause until the load is stopped. */
export async function startLoad(place: FaultPlace, chanceOf: (writer: number) => Chance): Promise<Load> {
  await place.client.key(USER);
  const endpoint = await place.client.sdk.capture.create({ user: USER, ttl: '0', passphrase: PASSPHRASE });
  const ends = new Ends();
  let [marks, isGoing] = [0, true];
  const newMark = (): number => {
    marks += 1;
    return marks;
  };
  const writers = Array.from({ length: WRITERS }, () => new Writer(place, endpoint, ends, newMark));
  const all = Promise.all(
    writers.map(async (writer, at) => {
      const chance = chanceOf(at);
      while (isGoing) {
        await writer.write(chance);
      }
    }),
  );
  return {
    ends,
    stop: async () => {
      isGoing = false;
      await all;
    },
    check: async () => differences(writers, await marksOf(place.client)),
  };
}
