import { useState } from 'preact/hooks';
import type { StoredObject } from '../../../sdk/transport/types.ts';
import { useListing } from '../app/load.ts';
import { goTo, type Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { Badge, Facts, ListTable, Panel, Screen, Time } from '../ui/parts.tsx';

/** Numbers are masked here even for an account that may see them, unless a person asks for them. */
const MASKED = ['card_number', 'account_number', 'number', 'n', 'pan', 'cvv', 'cvc'];

interface ItemName {
  readonly user: string;
  readonly token: string;
  readonly reference: string | undefined;
}

/** The data of the item, for the passphrase typed now; both are forgotten with the panel. */
function Data({ session: { client, who }, item }: { readonly session: Session; readonly item: ItemName }) {
  const [data, setData] = useState<StoredObject>();
  if (data !== undefined) {
    return (
      <>
        <Facts
          of={Object.entries(data).map(([name, value]) => [
            name,
            <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>,
          ])}
        />
        <button type="button" onClick={() => setData(undefined)}>
          {T.item.hide}
        </button>
      </>
    );
  }
  const isMasked = who.credential?.unmasked === false;
  return (
    <Form
      fields={[
        { name: 'passphrase', label: T.passphrase, kind: 'password', required: true, hint: T.passphraseHint },
        ...(isMasked
          ? []
          : [{ name: 'whole', label: T.item.whole, kind: 'checkbox', hint: T.item.wholeHint } as const]),
      ]}
      send={T.item.send}
      onSend={async ({ needed, isOn }) => {
        const mask = isOn('whole') ? {} : { mask_fields: MASKED };
        setData(await client.vault.decrypt({ ...item, passphrase: needed('passphrase'), ...mask }));
      }}
    />
  );
}

function Log({ session: { client }, item }: { readonly session: Session; readonly item: ItemName }) {
  const log = useListing((next_token) => client.vault.log({ ...item, next_token, limit: 20 }));
  return (
    <ListTable
      label={T.item.log}
      listing={log}
      empty={T.item.logEmpty}
      keyOf={({ request_id, timestamp, action }) => `${request_id} ${timestamp} ${action}`}
      columns={[
        { title: T.item.time, cell: ({ timestamp }) => <Time at={timestamp} /> },
        { title: T.item.action, cell: ({ action }) => action },
        { title: T.item.source, cell: ({ source }) => source },
        {
          title: T.item.outcome,
          cell: ({ outcome }) => <Badge kind={outcome === 'ok' ? 'good' : 'bad'}>{outcome}</Badge>,
        },
        { title: T.item.actor, cell: ({ actor }) => actor },
        { title: T.item.address, cell: ({ ip_address }) => ip_address },
      ]}
    />
  );
}

export function ItemScreen({
  session,
  params,
}: {
  readonly session: Session;
  readonly params: Route['params'];
}) {
  const { user = '', token = '', reference } = params;
  const item = { user, token, reference };
  const { client, may } = session;
  return (
    <Screen
      title={T.item.title}
      actions={
        may('vault:delete') && (
          <Confirm
            label={T.remove}
            question={T.item.removeQuestion}
            onConfirm={async () => {
              await client.vault.delete(item);
              goTo('items', { user });
            }}
          />
        )
      }
    >
      <Facts
        of={[
          [T.key, <code>{user}</code>],
          [T.items.token, <code>{token}</code>],
          [T.items.reference, reference ?? '–'],
        ]}
      />
      {may('vault:read') && (
        <Panel title={T.item.data}>
          <Data session={session} item={item} />
        </Panel>
      )}
      {may('vault:log') && (
        <Panel title={T.item.log}>
          <Log session={session} item={item} />
        </Panel>
      )}
    </Screen>
  );
}
