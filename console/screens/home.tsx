import type { ComponentChildren } from 'preact';
import type { Job } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { scopesIn } from '../app/words.ts';
import { BarChart, daysOf } from '../ui/chart.tsx';
import { Filter } from '../ui/fields.tsx';
import { Badge, Facts, Loaded, Panel, Screen, Time } from '../ui/parts.tsx';
import { ExpiringPanel } from './expiring.tsx';
import { SEARCH } from './items.tsx';

const JOBS_SHOWN = 100;
/** The age from which a backup is too old, as in the rules for alerts. */
const BACKUP_HOURS = 26;

interface Sample {
  readonly labels: string;
  readonly value: number;
}

/** Samples by the name of their metric. */
type Figures = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;

/** Reads the metrics of the server that serves this page, in the Prometheus text format; none if it does not publish them. */
async function readFigures(): Promise<Figures> {
  const figures = new Map<string, Sample[]>();
  const reply = await fetch('/metrics');
  for (const line of reply.ok ? (await reply.text()).split('\n') : []) {
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    if (name !== '') {
      figures.set(name, [...(figures.get(name) ?? []), { labels, value: Number(value) }]);
    }
  }
  return figures;
}

function sumOf(figures: Figures, name: string): number {
  return (figures.get(name) ?? []).reduce((sum, { value }) => sum + value, 0);
}

/** The lowest bound of a histogram with a share of its values, over all labels, in the unit of the bounds. */
function percentile(figures: Figures, name: string, share: number): number | undefined {
  const counts = new Map<number, number>();
  for (const { labels, value } of figures.get(`${name}_bucket`) ?? []) {
    const bound = Number(/le="([^"]*)"/.exec(labels)?.[1]?.replace('+Inf', 'Infinity'));
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const all = counts.get(Number.POSITIVE_INFINITY) ?? 0;
  const bounds = [...counts].sort(([a], [b]) => a - b);
  return all === 0 ? undefined : bounds.find(([, count]) => count >= share * all)?.[0];
}

function monthBefore(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
}

/** The number of jobs of a first page, with a mark if there are more. */
function countOf({
  data,
  next_token,
}: {
  readonly data: readonly Job[];
  readonly next_token?: string | undefined;
}) {
  return `${data.length}${next_token === undefined ? '' : '+'}`;
}

/** A figure, with a link to its screen unless `to` is false. */
function Tile({ name, value, to }: { name: string; value: string; to: string | false }) {
  const content = (
    <>
      <span>{name}</span> <strong>{value}</strong>
    </>
  );
  return <li>{to === false ? <div>{content}</div> : <a href={to}>{content}</a>}</li>;
}

/** What comes next in an account without a key, or without an item. */
function FirstSteps({ keys, items, may }: { keys: number; items: number; may: Session['may'] }) {
  if (keys === 0 && may('key:write') && may('key:read')) {
    return (
      <Panel title={T.home.start}>
        <p>{T.keys.about}</p>
        <a class="button primary" href="#/keys">
          {T.keys.create}
        </a>
      </Panel>
    );
  }
  return (
    keys > 0 &&
    items === 0 && (
      <Panel title={T.home.next}>
        <p>{T.items.none}</p>
        <a class="button primary" href="/guide/quick-start#4-store-a-card" target="_blank" rel="noreferrer">
          {T.home.store}
        </a>
      </Panel>
    )
  );
}

/** Stored data, usage and cost of the account. */
function Account({ session: { client, may } }: { readonly session: Session }) {
  const usage = useLoad(async () => {
    const month = monthBefore(new Date());
    const jobsThat = async (status: Job['status']) =>
      may('job:read') ? client.jobs.list({ status, limit: JOBS_SHOWN }) : undefined;
    const [now, last, bill, waiting, failed] = await Promise.all([
      client.admin.usage({ by_day: true }),
      client.admin.usage({ month, by_day: true }),
      client.admin.billing(),
      jobsThat('reporting'),
      jobsThat('failed'),
    ]);
    return { now, last, bill, waiting, failed };
  });
  const number = new Intl.NumberFormat();
  const showsItems = may('vault:list');
  return (
    <Loaded of={usage}>
      {({ now, last, bill, waiting, failed }) => (
        <>
          <FirstSteps keys={now.keys} items={now.tokens} may={may} />
          <ul class="tiles">
            <Tile name={T.home.items} value={number.format(now.tokens)} to={showsItems && '#/items'} />
            <Tile name={T.home.keys} value={number.format(now.keys)} to={may('key:read') && '#/keys'} />
            <Tile name={T.home.requests} value={number.format(now.api_requests)} to="#/usage" />
            <Tile name={T.home.cost} value={`${bill.amount} ${bill.currency}`} to="#/usage" />
            {waiting && (
              <Tile
                name={T.home.webhooks}
                value={countOf(waiting)}
                to={linkTo('jobs', { status: 'reporting' })}
              />
            )}
            {failed && (
              <Tile name={T.home.failed} value={countOf(failed)} to={linkTo('jobs', { status: 'failed' })} />
            )}
          </ul>
          <div class="halves">
            <BarChart title={T.home.byDay} unit={T.home.unit} bars={daysOf(now.month, now.days)} />
            <BarChart title={T.home.before} unit={T.home.unit} bars={daysOf(last.month, last.days)} />
          </div>
        </>
      )}
    </Loaded>
  );
}

/** The time of the newest backup, with a warning if it is too old. */
function Backup({ seconds }: { readonly seconds: number }) {
  const hours = Math.round((Date.now() / 1_000 - seconds) / 3_600);
  const days = Math.round(hours / 24);
  const ago = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
  return (
    <>
      {seconds > 0 && (
        <>
          <Time at={new Date(1_000 * seconds).toISOString()} />{' '}
          <span class="soft">({days < 2 ? ago.format(-hours, 'hour') : ago.format(-days, 'day')})</span>{' '}
        </>
      )}
      {hours > BACKUP_HOURS && <Badge kind="bad">{seconds > 0 ? T.home.backupOld : T.home.backupNone}</Badge>}
    </>
  );
}

/** Facts from the metrics; none if another listener publishes them. */
function factsOf(figures: Figures): (readonly [string, ComponentChildren])[] {
  if (figures.size === 0) {
    return [];
  }
  const [backup] = figures.get('vault_last_backup_timestamp_seconds') ?? [];
  const milliseconds = (share: number): string => {
    const seconds = percentile(figures, 'vault_http_request_duration_seconds', share);
    return seconds === undefined ? '–' : `${Math.round(10_000 * seconds) / 10} ms`;
  };
  return [
    ...(backup ? [[T.home.backup, <Backup seconds={backup.value} />] as const] : []),
    [T.home.errors, sumOf(figures, 'vault_http_errors_total')],
    [T.home.latency, T.home.latencies(milliseconds(0.5), milliseconds(0.99))],
  ];
}

/** The state of the server that serves this page. */
function Server() {
  const state = useLoad(async () => {
    const [ready, figures] = await Promise.all([
      fetch('/health/ready').then((reply) => reply.json() as Promise<{ status: string; unsafe?: string[] }>),
      readFigures(),
    ]);
    return { ready, figures };
  });
  return (
    <Panel title={T.home.server}>
      <Loaded of={state}>
        {({ ready, figures }) => (
          <Facts
            of={[
              [
                T.home.health,
                <>
                  <Badge kind={ready.status === 'ok' ? 'good' : 'bad'}>
                    {ready.status === 'ok' ? T.home.ok : T.home.failing}
                  </Badge>{' '}
                  {ready.unsafe && `${T.home.unsafe}${ready.unsafe.join(', ')}`}
                </>,
              ],
              ...factsOf(figures),
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

/** The rights of the API credential or person that is signed in. */
function Rights({ scopes, keys, unmasked }: NonNullable<Session['rights']>) {
  return (
    <Panel title={T.home.rights}>
      <Facts
        of={[
          [T.credentials.scopes, <span title={scopes.join(', ')}>{scopesIn(scopes)}</span>],
          [T.keys.title, keys?.join(', ') ?? T.all],
          [T.home.numbers, unmasked ? T.home.whole : T.home.masked],
        ]}
      />
    </Panel>
  );
}

export function HomeScreen({ session }: { readonly session: Session }) {
  const { rights } = session;
  return (
    <Screen title={T.home.title}>
      {session.may('vault:list') && <Filter screen="items" params={{}} fields={[SEARCH]} />}
      {rights && <Rights {...rights} />}
      {session.may('usage:read') ? (
        <>
          <Account session={session} />
          <ExpiringPanel session={session} />
        </>
      ) : (
        <p class="empty">{T.home.none}</p>
      )}
      <Server />
    </Screen>
  );
}
