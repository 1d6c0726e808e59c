import type { AuditEntry, ReadAudit } from '../../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { goTo, type Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Form } from '../ui/form.tsx';
import { Badge, ListTable, Screen, Time } from '../ui/parts.tsx';
import { timeOf } from './items.tsx';

/** Saves entries as a file, one JSON object a line. */
function save(entries: readonly AuditEntry[]): void {
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  const url = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `security-log-${new Date().toISOString().slice(0, 10)}.ndjson`;
  link.click();
  URL.revokeObjectURL(url);
}

/** Whether a number is missing between the shown entries; numbers of a log are consecutive. */
function hasGap(entries: readonly AuditEntry[]): boolean {
  return entries.some(({ id }, at) => at > 0 && Number(entries[at - 1]?.id) - Number(id) !== 1);
}

function Chain({ entries, isFiltered }: { entries: readonly AuditEntry[]; isFiltered: boolean }) {
  const isBroken = !isFiltered && hasGap(entries);
  const text = isFiltered ? T.log.filtered : isBroken ? T.log.gap : T.log.whole;
  return (
    <p>
      <strong>{T.log.chain}:</strong>{' '}
      <Badge kind={isBroken ? 'bad' : isFiltered ? 'plain' : 'good'}>{text}</Badge>
    </p>
  );
}

function Filters({ params: { action = '', token = '', object = '' } }: { readonly params: Route['params'] }) {
  return (
    <Form
      isCompact
      fields={[
        { name: 'action', label: T.log.action, value: action, placeholder: 'item.decrypt' },
        { name: 'token', label: T.log.token, value: token },
        { name: 'object', label: T.log.object, value: object },
        { name: 'after', label: T.log.after, kind: 'datetime-local' },
        { name: 'before', label: T.log.before, kind: 'datetime-local' },
      ]}
      send={T.search}
      onSend={(entered) =>
        goTo('log', {
          action: entered.text('action'),
          token: entered.text('token'),
          object: entered.text('object'),
          after: timeOf(entered, 'after'),
          before: timeOf(entered, 'before'),
        })
      }
    />
  );
}

/** The security log of the account, newest first. */
export function LogScreen({ session: { client }, params }: { session: Session; params: Route['params'] }) {
  const { action, token, after, before, object } = params;
  const log = useListing(
    (next_token) => {
      // An action that there is not is refused by the vault, in words.
      const query = { action, token, after, before, next_token, limit: 100 } as ReadAudit;
      return client.audit.list(query);
    },
    [action, token, after, before],
  );
  const all = log.load.kind === 'ready' ? log.load.data : [];
  const shown = all.filter((entry) => object === undefined || entry.object?.includes(object));
  const load = log.load.kind === 'ready' ? { ...log.load, data: shown } : log.load;
  return (
    <Screen
      title={T.log.title}
      about={T.log.about}
      actions={
        <button type="button" onClick={() => save(shown)}>
          {T.log.export}
        </button>
      }
    >
      <Filters params={params} key={JSON.stringify(params)} />
      <Chain entries={all} isFiltered={Object.keys(params).length > 0} />
      <ListTable
        label={T.log.title}
        listing={{ ...log, load }}
        empty={T.log.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.log.number, cell: ({ id }) => id, isNumber: true },
          { title: T.log.time, cell: ({ time }) => <Time at={time} /> },
          { title: T.log.action, cell: (entry) => <code>{entry.action}</code> },
          {
            title: T.log.outcome,
            cell: ({ outcome }) => <Badge kind={outcome === 'success' ? 'good' : 'bad'}>{outcome}</Badge>,
          },
          { title: T.log.actor, cell: ({ actor }) => actor },
          { title: T.log.what, cell: (entry) => entry.object },
          { title: T.log.source, cell: ({ source_ip }) => source_ip },
        ]}
      />
    </Screen>
  );
}
