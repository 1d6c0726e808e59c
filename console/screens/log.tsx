import type { AuditEntry, ReadAudit } from '../../sdk/transport/types.ts';
import { actorOf } from '../app/actor.ts';
import { useListing } from '../app/load.ts';
import { linkTo, type Route } from '../app/route.ts';
import { accountActions } from '../app/schema.macro.ts' with { type: 'macro' };
import type { ScreenProps } from '../app/session.ts';
import { T } from '../app/text.ts';
import { ACTIONS as ACTION_WORDS, codeOf } from '../app/words.ts';
import { Export, rowsOf } from '../ui/export.tsx';
import { choice, Filter, Periods } from '../ui/fields.tsx';
import { List } from '../ui/list.tsx';
import { Actor, Address, Badge, Outcome, Screen, shortOf, Time, Word } from '../ui/parts.tsx';

const ACTIONS = accountActions();

/** True if a number is missing between the shown entries; numbers of a log are consecutive. */
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

function Filters({ params }: { readonly params: Route['params'] }) {
  return (
    <>
      <Filter
        screen="log"
        params={params}
        fields={[
          choice('action', T.log.action, ACTIONS, '', T.all, (action) => ACTION_WORDS[action]),
          { name: 'actor', label: T.log.actor, hint: T.log.actorHint },
          { name: 'object', label: T.log.object },
          { name: 'source_ip', label: T.log.source, hint: T.log.sourceHint, isMore: true },
          { name: 'outcome', label: T.log.outcome, hint: T.log.outcomeHint, isMore: true },
          { name: 'token', label: T.log.token, isMore: true },
          { name: 'after', label: T.log.after, kind: 'datetime-local' },
          { name: 'before', label: T.log.before, kind: 'datetime-local' },
        ]}
      />
      <Periods screen="log" params={params} />
    </>
  );
}

/** True for an entry whose object contains `part`. */
function isAbout({ object }: AuditEntry, part: string | undefined): boolean {
  return part === undefined || object?.includes(part) === true;
}

/** An object with its token shortened, as in other tables. */
function shortened(object: string): string {
  return object.replace(/[^/]{33,}$/, shortOf);
}

/** The security log of the account, newest first. */
export function LogScreen({ session, params }: ScreenProps) {
  const { token, actor, source_ip, outcome, after, before, object } = params;
  const action = ACTIONS.find((known) => known === params['action']);
  const given = { action, token, source_ip, outcome: outcome && codeOf(outcome), after, before };
  const query = async (): Promise<ReadAudit> => ({
    ...given,
    actor: await actorOf(session, 'security', actor),
  });
  const log = useListing(
    async (next_token) => session.client.audit.list({ ...(await query()), next_token, limit: 100 }),
    [...Object.values(given), actor],
  );
  const all = log.kind === 'ready' ? log.data : [];
  return (
    <Screen
      title={T.log.title}
      about={T.log.about}
      actions={
        <Export
          name="security-log"
          rows={async function* () {
            yield* rowsOf(session.client.audit.pages(await query()), (entry) => isAbout(entry, object));
          }}
        />
      }
    >
      <Filters params={params} />
      <Chain
        entries={all}
        // A credential with certain keys sees no entries about others.
        isFiltered={Object.keys(params).length > 0 || session.rights?.keys !== undefined}
      />
      <List
        of={log.kind === 'ready' ? { ...log, data: all.filter((entry) => isAbout(entry, object)) } : log}
        title={T.log.title}
        empty={T.log.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.log.number, cell: ({ id }) => id, isNumber: true },
          { title: T.log.time, cell: ({ time }) => <Time at={time} isExact /> },
          { title: T.log.action, cell: (entry) => <Word of={ACTION_WORDS} code={entry.action} /> },
          { title: T.log.outcome, cell: (entry) => <Outcome code={entry.outcome} /> },
          {
            title: T.log.actor,
            cell: (entry) => <Actor {...entry} href={linkTo('log', { ...params, actor: entry.actor })} />,
            isLong: true,
          },
          {
            title: T.log.what,
            cell: ({ object = '' }) => <span title={object}>{shortened(object)}</span>,
            isLong: true,
          },
          { title: T.log.source, cell: (entry) => <Address session={session} ip={entry.source_ip} /> },
        ]}
      />
    </Screen>
  );
}
