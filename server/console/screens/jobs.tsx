import type { Job } from '../../../sdk/transport/types.ts';
import { useListing, useLoad } from '../app/load.ts';
import { goTo, linkTo, type Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { Badge, Facts, ListTable, Loaded, Panel, Screen, Short, Table, Time } from '../ui/parts.tsx';
import { timeOf } from './items.tsx';

const STATUSES = ['waiting', 'sending', 'reporting', 'done', 'failed', 'unknown', 'cancelled'] as const;
const KINDS = ['post', 'get', 'network_token', 'capture'] as const;
const BADGES = {
  waiting: 'wait',
  sending: 'wait',
  reporting: 'wait',
  done: 'good',
  failed: 'bad',
  unknown: 'bad',
  cancelled: 'plain',
} as const;

function oneOf<const Names extends readonly string[]>(names: Names, text = ''): Names[number] | undefined {
  return names.find((name) => name === text);
}

function choices(names: readonly string[]): (readonly [string, string])[] {
  return [['', T.all], ...names.map((name) => [name, name] as const)];
}

function Status({ of: { status } }: { readonly of: Job }) {
  return <Badge kind={BADGES[status]}>{status}</Badge>;
}

/** Jobs, newest first. */
export function JobsScreen({ session: { client }, params }: { session: Session; params: Route['params'] }) {
  const { status, kind, after, before } = params;
  const jobs = useListing(
    (next_token) => {
      const filter = { status: oneOf(STATUSES, status), kind: oneOf(KINDS, kind), after, before };
      return client.jobs.list({ ...filter, next_token, limit: 50 });
    },
    [status, kind, after, before],
  );
  return (
    <Screen title={T.jobs.title} about={T.jobs.about}>
      <Form
        isCompact
        fields={[
          {
            name: 'status',
            label: T.jobs.status,
            kind: 'select',
            value: status ?? '',
            options: choices(STATUSES),
          },
          { name: 'kind', label: T.jobs.kind, kind: 'select', value: kind ?? '', options: choices(KINDS) },
          { name: 'after', label: T.log.after, kind: 'datetime-local' },
          { name: 'before', label: T.log.before, kind: 'datetime-local' },
        ]}
        send={T.search}
        onSend={(entered) =>
          goTo('jobs', {
            status: entered.text('status'),
            kind: entered.text('kind'),
            after: timeOf(entered, 'after'),
            before: timeOf(entered, 'before'),
          })
        }
      />
      <ListTable
        label={T.jobs.title}
        listing={jobs}
        empty={T.jobs.empty}
        keyOf={({ id }) => id}
        columns={[
          {
            title: T.jobs.details,
            cell: ({ id }) => (
              <a href={linkTo('job', { id })}>
                <Short text={id} />
              </a>
            ),
          },
          { title: T.jobs.status, cell: (job) => <Status of={job} /> },
          { title: T.jobs.kind, cell: (job) => job.kind },
          { title: T.jobs.host, cell: ({ host }) => host },
          { title: T.jobs.created, cell: ({ created_at }) => <Time at={created_at} /> },
          { title: T.jobs.attempts, cell: ({ attempts }) => attempts.length, isNumber: true },
          {
            title: T.jobs.next,
            cell: ({ webhook }) => webhook?.next_at !== undefined && <Time at={webhook.next_at} />,
          },
        ]}
      />
    </Screen>
  );
}

function Attempts({ label, of }: { readonly label: string; readonly of: Job['attempts'] }) {
  return (
    <Panel title={label}>
      <Table
        label={label}
        rows={of}
        empty="–"
        keyOf={({ at }) => at}
        columns={[
          { title: T.log.time, cell: ({ at }) => <Time at={at} /> },
          { title: T.jobs.took, cell: ({ ms }) => `${ms} ms`, isNumber: true },
          { title: T.jobs.result, cell: ({ status_code, error }) => status_code ?? error },
        ]}
      />
    </Panel>
  );
}

/** One job, with all of its attempts. */
export function JobScreen({
  session: { client, may },
  params,
}: {
  session: Session;
  params: Route['params'];
}) {
  const { id = '' } = params;
  const job = useLoad(() => client.jobs.get({ id }), [id]);
  const change = (work: (name: { readonly id: string }) => Promise<unknown>) => async (): Promise<void> => {
    await work({ id });
    job.reload();
  };
  return (
    <Screen
      title={T.jobs.details}
      actions={
        may('job:write') && (
          <>
            <Confirm
              label={T.jobs.redeliver}
              question={`${T.jobs.redeliver}?`}
              onConfirm={change(client.jobs.redeliver)}
            />
            <Confirm
              label={T.jobs.cancel}
              question={T.jobs.cancelQuestion}
              onConfirm={change(client.jobs.cancel)}
            />
          </>
        )
      }
    >
      <Loaded of={job}>
        {(found) => (
          <>
            <Facts
              of={[
                ['Id', <code>{found.id}</code>],
                [T.jobs.status, <Status of={found} />],
                [T.jobs.kind, found.kind],
                [T.jobs.host, found.host],
                [T.items.token, found.token ?? '–'],
                [T.items.reference, found.reference ?? '–'],
                [T.jobs.actor, found.actor],
                [T.jobs.created, <Time at={found.created_at} />],
                [T.jobs.webhook, found.webhook?.url ?? '–'],
                ...(found.webhook?.next_at === undefined
                  ? []
                  : [[T.jobs.next, <Time at={found.webhook.next_at} />] as const]),
              ]}
            />
            <Attempts label={T.jobs.attempts} of={found.attempts} />
            {found.webhook && <Attempts label={T.jobs.webhook} of={found.webhook.attempts} />}
          </>
        )}
      </Loaded>
    </Screen>
  );
}
