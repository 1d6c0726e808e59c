import { useEffect } from 'preact/hooks';
import type { Job, ListJobs } from '../../sdk/transport/types.ts';
import { useListing, useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import { jobKinds, jobStatuses } from '../app/schema.macro.ts' with { type: 'macro' };
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { KINDS as KIND_WORDS, STATUSES as STATUS_WORDS } from '../app/words.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Export, rowsOf } from '../ui/export.tsx';
import { choice, Filter, Periods } from '../ui/fields.tsx';
import { List, Table } from '../ui/list.tsx';
import { Badge, Facts, Loaded, Panel, Screen, Short, Time, Word } from '../ui/parts.tsx';

const STATUSES = jobStatuses();
const KINDS = jobKinds();
/** The statuses of jobs whose reports can be delivered again. */
const REPORTED = ['done', 'failed', 'unknown'] as const;
const BADGES = {
  waiting: 'wait',
  sending: 'wait',
  reporting: 'wait',
  done: 'good',
  failed: 'bad',
  unknown: 'bad',
  cancelled: 'plain',
} as const;
/** Interval between reads of a job that is about to change. */
const FOLLOW_MS = 3_000;
/** Longest time before the next attempt of such a job. */
const SOON_MS = 30_000;

/** The choice of all jobs; without one those are listed that are not finished. */
const ALL = 'all';
/** Jobs that are looked through at once for those that are not finished. */
const PAGE = 256;
const PAGES_MAX = 4;

type Attempt = Job['attempts'][number];

/** True for a job that nobody has to look after. */
function isFinished({ status }: Job): boolean {
  return status === 'done' || status === 'cancelled';
}

/** A page of the jobs that are not finished, which are few among the others; it can be empty and have a next one. */
async function readUnfinished({ client }: Session, filter: ListJobs, from?: string) {
  let next_token = from;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await client.jobs.list({ ...filter, next_token, limit: PAGE });
    const data = page.data.filter((job) => !isFinished(job));
    next_token = page.next_token;
    if (data.length > 0 || next_token === undefined) {
      return { data, next_token };
    }
  }
  return { data: [], next_token };
}

function oneOf<const Names extends readonly string[]>(names: Names, text = ''): Names[number] | undefined {
  return names.find((name) => name === text);
}

function Status({ of: { status } }: { readonly of: Job }) {
  return (
    <Badge kind={BADGES[status]}>
      <Word of={STATUS_WORDS} code={status} />
    </Badge>
  );
}

function resultOf({ status_code, error }: Attempt): string {
  return String(status_code ?? error ?? '');
}

/** The result of the last attempt, with the number of attempts. */
function lastOf(attempts: readonly Attempt[]): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : `${resultOf(last)}${attempts.length > 1 ? ` (${attempts.length} ×)` : ''}`;
}

/** Jobs, newest first. */
export function JobsScreen({ session, params }: ScreenProps) {
  const { client, may } = session;
  const { status, after, before } = params;
  const kind = oneOf(KINDS, params['kind']);
  const filter = { status: oneOf(STATUSES, status), kind, after, before };
  const isFolded = status === undefined;
  const jobs = useListing(
    (next_token) =>
      isFolded
        ? readUnfinished(session, filter, next_token)
        : client.jobs.list({ ...filter, next_token, limit: 50 }),
    [...Object.values(filter), isFolded],
  );
  const reported = oneOf(REPORTED, isFolded || status === ALL ? 'failed' : status);
  return (
    <Screen
      title={T.jobs.title}
      about={T.jobs.about}
      actions={
        <>
          <button type="button" onClick={jobs.reload}>
            {T.refresh}
          </button>
          <Export
            name="jobs"
            rows={() => rowsOf(client.jobs.pages(filter), (job) => !(isFolded && isFinished(job)))}
          />
          {may('job:write') && reported !== undefined && (
            <Confirm
              label={T.jobs.redeliverAll}
              question={T.jobs.redeliverAllQuestion(STATUS_WORDS[reported])}
              done={T.jobs.redeliveredAll}
              kind="primary"
              onConfirm={() => client.jobs.redeliverMany({ status: reported, kind, after, before })}
              after={jobs.reload}
            />
          )}
        </>
      }
    >
      <Filter
        screen="jobs"
        params={params}
        fields={[
          choice('status', T.jobs.status, [ALL, ...STATUSES], '', T.jobs.unfinished, (each) =>
            each === ALL ? T.all : STATUS_WORDS[each],
          ),
          choice('kind', T.jobs.kind, KINDS, '', T.all, (each) => KIND_WORDS[each]),
          { name: 'after', label: T.log.after, kind: 'datetime-local' },
          { name: 'before', label: T.log.before, kind: 'datetime-local' },
        ]}
      />
      <Periods screen="jobs" params={params} />
      <List
        of={jobs}
        title={T.jobs.title}
        empty={Object.keys(params).length === 0 ? T.jobs.noneUnfinished : T.jobs.empty}
        keyOf={({ id }) => id}
        columns={[
          {
            title: T.jobs.one,
            cell: ({ id }) => (
              <a href={linkTo('job', { id })}>
                <Short text={id} />
              </a>
            ),
          },
          { title: T.jobs.status, cell: (job) => <Status of={job} /> },
          { title: T.jobs.kind, cell: (job) => <Word of={KIND_WORDS} code={job.kind} /> },
          { title: T.items.reference, cell: ({ reference }) => reference },
          { title: T.jobs.host, cell: ({ host }) => host },
          { title: T.jobs.created, cell: ({ created_at }) => <Time at={created_at} /> },
          { title: T.jobs.request, cell: ({ attempts }) => lastOf(attempts) },
          { title: T.jobs.webhook, cell: ({ webhook }) => lastOf(webhook?.attempts ?? []) },
        ]}
      />
      {isFolded && (
        <p>
          <a href={linkTo('jobs', { ...params, status: ALL })}>{T.jobs.folded}</a>
        </p>
      )}
    </Screen>
  );
}

function Attempts({ title, of }: { title: string; of: readonly Attempt[] }) {
  return (
    <Panel title={title}>
      <Table
        title={title}
        rows={of}
        empty={T.jobs.noAttempts}
        keyOf={({ at }) => at}
        columns={[
          { title: T.log.time, cell: ({ at }) => <Time at={at} /> },
          { title: T.jobs.result, cell: resultOf },
          { title: T.jobs.took, cell: ({ ms }) => `${ms} ms`, isNumber: true },
        ]}
      />
    </Panel>
  );
}

/** The reason why a webhook was not delivered; undefined if it was, or was not called yet. */
function webhookFault({ webhook }: Job): string | undefined {
  const last = webhook?.attempts.at(-1);
  if (last === undefined || last.status_code === 200) {
    return undefined;
  }
  return last.status_code === undefined
    ? T.jobs.webhookError(last.error ?? '')
    : T.jobs.webhookStatus(last.status_code);
}

function isEnded({ status }: Job): boolean {
  return ['done', 'failed', 'unknown'].includes(status);
}

/** True for a job that can change soon. */
function isMoving({ status, webhook }: Job): boolean {
  const next = webhook?.next_at === undefined ? 0 : Date.parse(webhook.next_at) - Date.now();
  return ['waiting', 'sending', 'reporting'].includes(status) && next < SOON_MS;
}

/** One job, with all of its attempts. */
export function JobScreen({ session: { client, may }, params }: ScreenProps) {
  const { id = '' } = params;
  const job = useLoad(() => client.jobs.get({ id }), [id]);
  const found = job.kind === 'ready' ? job.data : undefined;
  useEffect(() => {
    const timer = found && isMoving(found) ? setTimeout(job.reload, FOLLOW_MS) : undefined;
    return () => clearTimeout(timer);
  }, [found, job.reload]);
  return (
    <Screen
      title={T.jobs.one}
      up={[linkTo('jobs'), T.jobs.title]}
      actions={
        found && (
          <>
            <button type="button" onClick={job.reload}>
              {T.refresh}
            </button>
            {may('job:write') && found.webhook && isEnded(found) && (
              <Confirm
                label={T.jobs.redeliver}
                question={T.jobs.redeliverQuestion}
                done={T.jobs.redelivered}
                kind="primary"
                onConfirm={() => client.jobs.redeliver({ id })}
                after={job.reload}
              />
            )}
          </>
        )
      }
      last={
        may('job:write') &&
        found?.status === 'waiting' && (
          <Confirm
            label={T.jobs.cancel}
            question={T.jobs.cancelQuestion}
            done={T.jobs.cancelled}
            onConfirm={() => client.jobs.cancel({ id })}
            after={job.reload}
          />
        )
      }
    >
      <Loaded of={job}>{(shown) => <JobFacts job={shown} />}</Loaded>
    </Screen>
  );
}

function JobFacts({ job }: { readonly job: Job }) {
  const { webhook } = job;
  const fault = webhookFault(job);
  return (
    <>
      <div role="status">
        <p>
          <Status of={job} /> {T.jobs.meanings[job.status]}
        </p>
        {fault !== undefined && <p class="warning">{fault}</p>}
      </div>
      <Facts
        of={[
          [T.jobs.id, <code>{job.id}</code>],
          [T.jobs.kind, <Word of={KIND_WORDS} code={job.kind} />],
          [T.jobs.host, job.host],
          [T.items.token, job.token ? <code>{job.token}</code> : '–'],
          [T.items.reference, job.reference ?? '–'],
          [T.jobs.actor, job.actor],
          [T.jobs.created, <Time at={job.created_at} />],
          [T.jobs.webhook, webhook?.url ?? '–'],
          ...(webhook?.next_at === undefined ? [] : [[T.jobs.next, <Time at={webhook.next_at} />] as const]),
        ]}
      />
      {job.kind !== 'capture' && <Attempts title={T.jobs.attempts} of={job.attempts} />}
      {webhook && <Attempts title={T.jobs.calls} of={webhook.attempts} />}
    </>
  );
}
