import type { ComponentChildren } from 'preact';
import type { WhoAmI } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { type Figures, percentile, readFigures, sumOf } from '../app/metrics.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { BarChart, daysOf } from '../ui/chart.tsx';
import { Badge, Facts, Loaded, Panel, Screen, Time } from '../ui/parts.tsx';

const JOBS_SHOWN = 100;
/** The age from which a backup is too old, as in the rules for alerts. */
const BACKUP_HOURS = 26;

function monthBefore(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
}

/** A figure, which leads to the screen that it is of, if that may be seen. */
function Tile({ name, value, to }: { name: string; value: string; to: string | false }) {
  const content = (
    <>
      <span>{name}</span> <strong>{value}</strong>
    </>
  );
  return <li>{to === false ? <div>{content}</div> : <a href={to}>{content}</a>}</li>;
}

/** What the account has and used. */
function Account({ session: { client, may } }: { readonly session: Session }) {
  const usage = useLoad(async () => {
    const month = monthBefore(new Date());
    const [now, last, bill, jobs] = await Promise.all([
      client.admin.usage({ by_day: true }),
      client.admin.usage({ month, by_day: true }),
      client.admin.billing(),
      may('job:read') ? client.jobs.list({ status: 'reporting', limit: JOBS_SHOWN }) : undefined,
    ]);
    return { now, last, bill, jobs };
  });
  const number = new Intl.NumberFormat();
  const showsItems = may('vault:list');
  return (
    <Loaded of={usage}>
      {({ now, last, bill, jobs }) => (
        <>
          {now.keys === 0 && may('key:write') && may('key:read') && (
            <Panel title={T.home.start}>
              <p>{T.keys.about}</p>
              <a class="button primary" href="#/keys">
                {T.keys.create}
              </a>
            </Panel>
          )}
          <ul class="tiles">
            <Tile name={T.home.items} value={number.format(now.tokens)} to={showsItems && '#/items'} />
            <Tile name={T.home.keys} value={number.format(now.keys)} to={may('key:read') && '#/keys'} />
            <Tile name={T.home.requests} value={number.format(now.api_requests)} to="#/usage" />
            <Tile name={T.home.cost} value={`${bill.amount} ${bill.currency}`} to="#/usage" />
            {jobs && (
              <Tile
                name={T.home.webhooks}
                value={`${jobs.data.length}${jobs.next_token === undefined ? '' : '+'}`}
                to="#/jobs?status=reporting"
              />
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

/** When the newest backup was made, and a warning if that was too long ago. */
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

/** What the metrics tell; nothing where another listener has them. */
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

/** How the server is that answers here. */
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
        {({ ready, figures }) => {
          return (
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
          );
        }}
      </Loaded>
    </Panel>
  );
}

/** What an API credential may do, for a person who was given one. */
function Rights({ scopes, keys, unmasked }: NonNullable<WhoAmI['credential']>) {
  return (
    <Panel title={T.home.rights}>
      <Facts
        of={[
          [T.credentials.scopes, scopes.join(', ')],
          [T.keys.title, keys?.join(', ') ?? T.all],
          [T.home.numbers, unmasked ? T.home.whole : T.home.masked],
        ]}
      />
    </Panel>
  );
}

/** What the account has and used, and how the server is. */
export function HomeScreen({ session }: { readonly session: Session }) {
  const { credential } = session.who;
  return (
    <Screen title={T.home.title}>
      {credential && <Rights {...credential} />}
      {session.may('usage:read') ? <Account session={session} /> : <p class="empty">{T.home.none}</p>}
      <Server />
    </Screen>
  );
}
