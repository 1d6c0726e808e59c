import { useLoad } from '../app/load.ts';
import { percentile, readFigures, sumOf } from '../app/metrics.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { BarChart } from '../ui/chart.tsx';
import { Badge, Facts, Loaded, Panel, Screen } from '../ui/parts.tsx';

const JOBS_SHOWN = 100;

function monthBefore(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
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
  const barsOf = (month: string, days: readonly number[] = []) =>
    days.map((value, at) => ({ name: `${month}-${String(at + 1).padStart(2, '0')}`, value }));
  return (
    <Loaded of={usage}>
      {({ now, last, bill, jobs }) => (
        <>
          <ul class="tiles">
            {(
              [
                [T.home.items, number.format(now.tokens), '#/items'],
                [T.home.keys, number.format(now.keys), '#/keys'],
                [T.home.requests, number.format(now.api_requests), '#/usage'],
                [T.home.cost, `${bill.amount} ${bill.currency}`, '#/usage'],
                ...(jobs
                  ? [
                      [
                        T.home.webhooks,
                        `${jobs.data.length}${jobs.next_token === undefined ? '' : '+'}`,
                        '#/jobs?status=reporting',
                      ],
                    ]
                  : []),
              ] as const
            ).map(([name, value, link]) => (
              <li key={name}>
                <a href={link}>
                  <span>{name}</span> <strong>{value}</strong>
                </a>
              </li>
            ))}
          </ul>
          <div class="halves">
            <BarChart title={T.home.byDay} unit={T.home.unit} bars={barsOf(now.month, now.days)} />
            <BarChart title={T.home.before} unit={T.home.unit} bars={barsOf(last.month, last.days)} />
          </div>
        </>
      )}
    </Loaded>
  );
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
  const milliseconds = (seconds: number | undefined): string =>
    seconds === undefined ? '–' : `${Math.round(1_000 * seconds * 10) / 10} ms`;
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
                [T.home.errors, sumOf(figures, 'vault_http_errors_total')],
                [
                  T.home.latency,
                  [0.5, 0.99]
                    .map((share) =>
                      milliseconds(percentile(figures, 'vault_http_request_duration_seconds', share)),
                    )
                    .join(', '),
                ],
              ]}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}

export function HomeScreen({ session }: { readonly session: Session }) {
  return (
    <Screen title={T.home.title}>
      {session.may('usage:read') ? <Account session={session} /> : <p class="empty">{T.home.none}</p>}
      <Server />
    </Screen>
  );
}
