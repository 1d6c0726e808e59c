import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogEntry, StoredObject, TreeItem } from '../../sdk/transport/types.ts';
import { type Kept, keep, keptBy, unlock } from '../app/kept.ts';
import { useListing, useLoad } from '../app/load.ts';
import { notify } from '../app/notice.ts';
import { goTo, linkTo, type Route } from '../app/route.ts';
import { messageOf, type ScreenProps, type Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { fieldOf, ITEM_ACTIONS, SOURCES } from '../app/words.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { PASSPHRASE, Periods } from '../ui/fields.tsx';
import { type Field, Form } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Actor, Address, Copy, Facts, Loaded, Outcome, Panel, Screen, Time, Word } from '../ui/parts.tsx';
import { MakeLink } from './endpoints.tsx';
import { CardExpiry, cardOf, metadataOf } from './items.tsx';

/** Masked unless requested, even for an account that sees numbers unmasked. */
const MASKED = ['card_number', 'account_number', 'number', 'n', 'pan', 'cvv', 'cvc'];

/** Entries of a log that are read at once. */
const LOG_STEP = 50;

interface ItemProps {
  readonly session: Session;
  readonly item: { readonly user: string; readonly token: string; readonly reference: string | undefined };
}

/** The form that asks for the passphrase, or for the passkey that one is kept under. */
function Ask({ session, item, kept, onSend, onKept }: AskProps) {
  const { rights, keeper = kept.at(0)?.passkey_id } = session;
  const mine = kept.find(({ key }) => key === item.user);
  const whole: readonly Field[] =
    rights?.unmasked === false
      ? []
      : [{ name: 'whole', label: T.item.whole, kind: 'checkbox', hint: T.item.wholeHint }];
  const typed = (
    <Form
      fields={[
        PASSPHRASE,
        ...whole,
        ...(keeper !== undefined && mine === undefined
          ? [{ name: 'keep', label: T.item.keep, kind: 'checkbox', hint: T.item.keepHint } as const]
          : []),
      ]}
      send={T.item.send}
      onSend={async ({ needed, isOn }) => {
        const passphrase = needed('passphrase');
        await onSend(passphrase, isOn('whole'));
        if (keeper !== undefined && isOn('keep')) {
          await keep(session, item.user, keeper, passphrase).then(
            () => {
              onKept();
              notify(T.item.kept);
            },
            (error: unknown) => notify(messageOf(error)),
          );
        }
      }}
    />
  );
  return mine === undefined ? (
    typed
  ) : (
    <>
      <Form
        fields={whole}
        send={T.item.unlock}
        onSend={async ({ isOn }) => onSend(await unlock(session, mine), isOn('whole'))}
      />
      <details class="more">
        <summary>{T.item.typed}</summary>
        {typed}
      </details>
    </>
  );
}

interface AskProps extends ItemProps {
  readonly kept: readonly Kept[];
  readonly onSend: (passphrase: string, isWhole: boolean) => Promise<void>;
  readonly onKept: () => void;
}

/** The data of the item, decrypted with a passphrase; both are forgotten with the panel. */
function Data({ session, item, onLook }: ItemProps & { readonly onLook: () => void }) {
  const [data, setData] = useState<StoredObject>();
  const kept = useLoad(() => keptBy(session));
  const place = useRef<HTMLDivElement>(null);
  const wasShown = useRef(false);
  useEffect(() => {
    // The form or button that had the focus is gone.
    if (data !== undefined || wasShown.current) {
      (place.current?.querySelector('input') ?? place.current)?.focus();
    }
    wasShown.current = data !== undefined;
  }, [data]);
  const show = async (passphrase: string, isWhole: boolean): Promise<void> => {
    const mask = isWhole ? {} : { mask_fields: MASKED };
    try {
      setData(await session.client.vault.decrypt({ ...item, passphrase, ...mask }));
    } finally {
      onLook();
    }
  };
  return (
    <div ref={place} tabIndex={-1}>
      {data !== undefined ? (
        <>
          <Facts
            of={Object.entries(data).map(([name, value]) => [
              fieldOf(name),
              <code title={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</code>,
            ])}
          />
          <button type="button" onClick={() => setData(undefined)}>
            {T.item.hide}
          </button>
        </>
      ) : (
        kept.kind !== 'loading' && (
          <Ask
            session={session}
            item={item}
            kept={kept.kind === 'ready' ? kept.data : []}
            onSend={show}
            onKept={kept.reload}
          />
        )
      )}
    </div>
  );
}

/** A page of an item's log in a period, newest first. */
async function readLog({ client }: Session, item: ItemProps['item'], period: Route['params'], from?: string) {
  const after = Date.parse(period['after'] ?? '') || 0;
  const before = Date.parse(period['before'] ?? '') || Number.POSITIVE_INFINITY;
  let next_token = from;
  let data: LogEntry[] = [];
  do {
    const page = await client.vault.log({ ...item, next_token, limit: LOG_STEP });
    data = page.data.filter(
      ({ timestamp }) => Date.parse(timestamp) >= after && Date.parse(timestamp) < before,
    );
    const isPast = Date.parse(page.data.at(-1)?.timestamp ?? '') < after;
    next_token = isPast ? undefined : page.next_token;
  } while (data.length === 0 && next_token !== undefined);
  return { data, next_token };
}

function Log({ session, item, params, looks }: LogProps) {
  const { after, before } = params;
  const mayRead = session.may('audit:read');
  const log = useListing((next) => readLog(session, item, params, next), [looks, after, before]);
  return (
    <Panel
      title={T.item.log}
      actions={
        <Export
          name="item-log"
          rows={async function* () {
            let next: string | undefined;
            do {
              const page = await readLog(session, item, params, next);
              yield page.data;
              next = page.next_token;
            } while (next !== undefined);
          }}
        />
      }
    >
      <Periods screen="item" params={params} kept={item} />
      <List
        of={log}
        title={T.item.log}
        empty={T.item.logEmpty}
        keyOf={({ request_id, timestamp, action }) => `${request_id} ${timestamp} ${action}`}
        columns={[
          { title: T.item.time, cell: ({ timestamp }) => <Time at={timestamp} isExact /> },
          { title: T.item.action, cell: ({ action }) => <Word of={ITEM_ACTIONS} code={action} /> },
          { title: T.item.source, cell: ({ source }) => <Word of={SOURCES} code={source} /> },
          { title: T.item.outcome, cell: ({ outcome }) => <Outcome code={outcome} /> },
          {
            title: T.item.actor,
            cell: (entry) => (
              <Actor {...entry} href={mayRead && linkTo('readings', { actor: entry.actor })} />
            ),
            isLong: true,
          },
          {
            title: T.item.endpoint,
            cell: ({ endpoint }) =>
              endpoint !== undefined && mayRead ? (
                <a href={linkTo('readings', { endpoint })}>{endpoint}</a>
              ) : (
                (endpoint ?? '–')
              ),
            isLong: true,
          },
          { title: T.item.address, cell: ({ ip_address }) => <Address session={session} ip={ip_address} /> },
        ]}
      />
    </Panel>
  );
}

type LogProps = ItemProps & { readonly params: Route['params']; readonly looks: number };

/** The facts that need no passphrase, with those of the listing if the credential may list. */
function Known({ item: { user, token, reference }, listed }: KnownProps) {
  return (
    <Facts
      of={[
        [
          T.items.token,
          <span class="line">
            <code>{token}</code> <Copy text={token} />
          </span>,
        ],
        [T.key, <code>{user}</code>],
        [T.items.reference, reference ?? '–'],
        ...(listed === undefined
          ? []
          : ([
              [T.items.card, cardOf(listed) || '–'],
              [T.items.cardExpiry, listed.card?.expiry_year ? <CardExpiry of={listed} /> : '–'],
              [T.items.stored, <Time at={listed.stored_at} />],
              [T.items.expiry, <Time at={listed.expires_at} />],
              [T.items.metadata, metadataOf(listed) || '–'],
            ] as const)),
      ]}
    />
  );
}

type KnownProps = Pick<ItemProps, 'item'> & { readonly listed: TreeItem | undefined };

/** One item: its facts, its data and its log. */
export function ItemScreen({ session, params }: ScreenProps) {
  const { user = '', token = '', reference } = params;
  const item = { user, token, reference };
  const { client, may } = session;
  const [looks, setLooks] = useState(0);
  const known = useLoad(
    async () => (may('vault:list') ? (await client.vault.list(item)).data[user]?.[0] : undefined),
    [user, token, reference],
  );
  return (
    <Screen
      title={reference === undefined ? T.item.title : `${T.item.title} ${reference}`}
      up={[linkTo('items', { user }), T.items.title]}
      actions={known.kind === 'ready' && may('retrieve:write') && <MakeLink session={session} item={item} />}
      last={
        known.kind === 'ready' &&
        may('vault:delete') && (
          <Confirm
            question={T.item.removeQuestion}
            done={T.item.removed}
            onConfirm={async () => {
              await client.vault.delete(item);
              goTo('items', { user });
            }}
          />
        )
      }
    >
      <Loaded of={known}>
        {(listed) => (
          <>
            <Known item={item} listed={listed} />
            {may('vault:read') && (
              <Panel title={T.item.data}>
                <Data session={session} item={item} onLook={() => setLooks((before) => before + 1)} />
              </Panel>
            )}
            {may('vault:log') && <Log session={session} item={item} params={params} looks={looks} />}
          </>
        )}
      </Loaded>
    </Screen>
  );
}
