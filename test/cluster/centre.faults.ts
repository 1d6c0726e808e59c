import { afterEach, expect, test } from 'bun:test';
import { acceptedId, CARD, proxyPost, requestTo } from '../helpers/proxy.ts';
import { openRaw } from '../helpers/redis.ts';
import { startThirdParty, type ThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { beginLoad, type Place, startPlace } from './failure.ts';
import { missing, recovery, until } from './load.ts';

const REQUESTS = 40;
/** A request is under way for so long, so that some are whenever a master is killed. */
const TAKES_MS = 400;

let place: Place | undefined;
let party: ThirdParty | undefined;
afterEach(async () => {
  await place?.stop();
  party?.stop();
  place = undefined;
}, 60_000);

/** The account's own tag, of which there is one. */
async function accountTag({ cluster }: Place): Promise<string> {
  const raw = openRaw(cluster);
  const names = await raw.keys('{a:*}keys');
  raw.disconnect();
  return names[0]?.replace(/\}keys$/, '}') ?? '';
}

test.each(['{accounts}', '{a:AID}', '{vault}', '{jobs}'])(
  'the master of %s is killed: 503 until its replica is there, then all is well, and accepted requests are sent',
  async (tag) => {
    const third = await startThirdParty();
    party = third;
    place = await startPlace(true, {
      VAULT_REDIS_WAIT: '1',
      caPem: (await thirdPartyTrust()).authority.pem,
    });
    const { cluster, both } = place;
    const victim = await cluster.masterOf(tag === '{a:AID}' ? await accountTag(place) : tag);
    const token = await both.client.store('u', CARD);
    const receiver = createReceiver(third);
    const order = async (n: number) => {
      third.script(`/pay-${n}`, async () => {
        await Bun.sleep(TAKES_MS);
        return 200;
      });
      const sent = { request: requestTo(third.url(`/pay-${n}`)), webhook: receiver.webhook };
      const item = { account: both.client, user: 'u', token };
      return acceptedId(await proxyPost(item, { ...sent, synchronous: false }));
    };
    const load = await beginLoad(both);
    const ids = await Promise.all(Array.from({ length: REQUESTS }, (_, n) => order(n)));

    const killed = performance.now();
    await victim.signal('SIGKILL');
    // The promoted node takes no write before it has a replica again.
    await until(async () => (await cluster.replicaOf(victim)?.command('ROLE'))?.includes('master') === true);
    const promoted = performance.now() - killed;
    await victim.start();
    const took = await recovery(load, killed);
    await load.end();
    const lost = await missing(both, load.stored);
    const told = (): Set<string | undefined> => new Set(receiver.events().map(({ id }) => id));
    await until(async () => ids.every((id) => told().has(id)));
    const settled = performance.now() - killed;
    const calls = ids.map((_, n) => third.calls(`/pay-${n}`).length);
    const unknown = receiver.events().filter(({ received }) => received.text.includes('outcome_unknown'));

    console.log(
      `${tag}: promoted after ${promoted.toFixed(0)} ms, all well after ${took.toFixed(0)} ms, ` +
        `${load.stored.size} acknowledged, ${lost.length} lost, ${[...load.failed].join(' ')} failed; ` +
        `${ids.length} accepted, ${calls.reduce((sum, count) => sum + count, 0)} sent, all told after ` +
        `${settled.toFixed(0)} ms by ${receiver.events().length} webhooks, ${unknown.length} of them outcome_unknown`,
    );
    expect([...load.failed.keys()].filter((outcome) => outcome !== '503 store_unavailable')).toEqual([]);
    expect(lost).toEqual([]);
    expect(Math.max(...calls)).toBe(1);
    const unsent = ids.filter((_, n) => calls[n] === 0);
    const unknownIds = new Set(unknown.map(({ id }) => id));
    expect(unsent.filter((id) => !unknownIds.has(id))).toEqual([]);
    expect(both.servers.every((server) => server.isRunning())).toBe(true);
    expect(both.printed().match(/CROSSSLOT/)).toBeNull();
  },
  120_000,
);
