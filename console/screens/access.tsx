/** What all lists of endpoints and inbounds have: they are found, they end, they are stopped. */
import type { ComponentChildren } from 'preact';
import { type Load, useSteps } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, Opener } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { choice, Filter } from '../ui/fields.tsx';
import { type Column, List } from '../ui/list.tsx';
import { Badge, Screen, Time } from '../ui/parts.tsx';

/** Rows that are shown at first, and with each press of the button for more. */
const STEP = 50;

/** The states by which a list is filtered; without one it has what is active. */
const STATES = ['stopped', 'all'] as const;

/** What somebody without a sign-in can use. */
interface Access {
  readonly user: string;
  readonly expires_at: string | null;
  readonly expired: boolean;
}

interface AccessProps<Row extends Access> extends ScreenProps {
  /** Its name in the address. */
  readonly screen: string;
  readonly of: Load<readonly Row[]>;
  readonly title: string;
  readonly about: string;
  readonly empty: string;
  /** The label of the search, which looks into the id and `textsOf`. */
  readonly search: string;
  readonly idOf: (row: Row) => string;
  readonly textsOf: (row: Row) => readonly (string | undefined)[];
  readonly isUsedUp?: (row: Row) => boolean;
  /** The button for a new one. */
  readonly label: string;
  /** What is asked before one is stopped. */
  readonly question: string;
  /** The content of the dialog for a new one; absent without the right to make one. */
  readonly create: ComponentChildren | undefined;
  /** Columns behind id, key, state and end. */
  readonly columns: readonly Column<Row>[];
  readonly actions: (row: Row) => ComponentChildren;
  readonly stop: (row: Row) => Promise<unknown>;
}

/** The list of all of one kind. */
export function AccessScreen<Row extends Access>(props: AccessProps<Row>) {
  const { screen, session, params, of, title, idOf, textsOf, isUsedUp = () => false } = props;
  const { text, state } = params;
  const all = of.kind === 'ready' ? of.data : [];
  const found = all.filter(
    (row) =>
      (state === 'all' || row.expired === (state === 'stopped')) &&
      (text === undefined || [idOf(row), ...textsOf(row)].some((each) => each?.includes(text))),
  );
  const shown = useSteps(of.kind === 'ready' ? { ...of, data: found } : of, STEP);
  const stopped = all.filter(({ expired }) => expired).length;
  const isFiltered = Object.keys(params).length > 0;
  return (
    <Screen
      title={title}
      about={props.about}
      actions={
        <>
          <Export name={screen === 'inbound' ? 'inbounds' : `${screen}-endpoints`} rows={() => [found]} />
          {props.create && (
            <Opener label={props.label} kind="primary">
              {props.create}
            </Opener>
          )}
        </>
      }
    >
      <Filter
        screen={screen}
        params={params}
        fields={[
          { name: 'text', label: props.search },
          choice(
            'state',
            T.endpoints.state,
            STATES,
            '',
            T.endpoints.active,
            (each) => T.endpoints.states[each],
          ),
        ]}
      />
      <List
        of={shown}
        title={title}
        empty={all.length > 0 || isFiltered ? T.endpoints.noMatch : props.empty}
        keyOf={idOf}
        columns={[
          { title: T.endpoints.id, cell: (row) => <code>{idOf(row)}</code>, isLong: true },
          { title: T.key, cell: ({ user }) => user },
          {
            title: T.endpoints.state,
            cell: (row) => (
              <Badge kind={row.expired || isUsedUp(row) ? 'plain' : 'good'}>
                {row.expired
                  ? T.endpoints.states.stopped
                  : isUsedUp(row)
                    ? T.endpoints.usedUp
                    : T.endpoints.active}
              </Badge>
            ),
          },
          { title: T.endpoints.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
          ...props.columns,
        ]}
        actions={(row) => (
          <>
            {props.actions(row)}
            {session.may('audit:read') && (
              <a class="button" href={linkTo('log', { action: 'endpoint.use', object: idOf(row) })}>
                {T.endpoints.refusals}
              </a>
            )}
            <Confirm
              name={idOf(row)}
              label={T.endpoints.stop}
              question={props.question}
              done={T.endpoints.wasStopped(idOf(row))}
              onConfirm={() => props.stop(row)}
              after={of.reload}
            />
          </>
        )}
      />
      {stopped > 0 && state === undefined && (
        <p>
          <a href={linkTo(screen, { ...params, state: 'all' })}>{T.endpoints.folded(stopped)}</a>
        </p>
      )}
    </Screen>
  );
}
