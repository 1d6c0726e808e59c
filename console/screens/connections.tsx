import type { Connection } from '../../sdk/calls/connection.ts';
import { useLoad } from '../app/load.ts';
import { proxyMethods } from '../app/schema.macro.ts' with { type: 'macro' };
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, FormDialog } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { type Entered, type Field, given } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Screen, Time } from '../ui/parts.tsx';

const METHODS = proxyMethods();

/** A text field for a list. */
function listField(name: string, label: string, hint: string, value: readonly string[] = []): Field {
  return { name, label, hint, value: value.join(', '), isMore: true };
}

/** The name of the field for the value of a header of a replaced connection. */
function valueFieldOf(header: string): string {
  return `value of ${header}`;
}

/** The fields for a new connection, or for another state of one, whose secret values have to be typed again. */
function fieldsFor(connection?: Connection): readonly Field[] {
  const { base_url = 'https://', headers = [], sign, client_cert_id } = connection ?? {};
  const { methods = [], paths, rules, reply, inbound = false } = connection ?? {};
  const isMore = headers.length > 0;
  const value = { name: 'value', label: T.connections.value, kind: 'passphrase', isMore } as const;
  return [
    ...(connection === undefined ? [{ name: 'id', label: T.connections.id, required: true }] : []),
    {
      ...{ name: 'base_url', label: T.connections.url, required: true, value: base_url },
      hint: T.connections.urlHint,
    },
    ...headers.map(
      (header): Field => ({
        ...{ name: valueFieldOf(header), label: T.connections.valueOf(header), kind: 'passphrase' },
        hint: T.connections.valueAgain,
      }),
    ),
    ...(sign
      ? [{ ...value, name: 'sign_key', label: T.connections.signKey, required: true, isMore: false }]
      : []),
    {
      ...{ name: 'header', label: isMore ? T.connections.another : T.connections.header, isMore },
      value: isMore ? '' : 'Authorization',
    },
    { ...value, hint: T.connections.valueHint },
    {
      ...({ name: 'methods', label: T.connections.methods, kind: 'many', isMore: true } as const),
      ...{ value: methods.join(), options: METHODS.map((method) => [method, method] as const) },
    },
    listField('paths', T.connections.paths, T.connections.pathsHint, paths),
    {
      ...{ name: 'client_cert_id', label: T.connections.certificate, isMore: true },
      value: client_cert_id ?? '',
    },
    listField('rules', T.connections.rules, T.endpoints.masksHint, rules),
    listField('reply', T.connections.reply, T.connections.replyHint, reply),
    {
      ...({ name: 'inbound', label: T.connections.inbound, kind: 'checkbox', isMore: true } as const),
      ...{ hint: T.connections.inboundHint, value: inbound },
    },
  ];
}

/** What was entered, with the members of a replaced connection that have no field. */
function settingsIn({ needed, text, list, isOn }: Entered, before?: Connection) {
  const kept = (before?.headers ?? []).map((header) => [header, text(valueFieldOf(header))] as const);
  const all = [...kept, [needed('header'), text('value')] as const];
  const headers = all.flatMap(([header, value]) => (value === undefined ? [] : [{ [header]: value }]));
  return {
    base_url: needed('base_url'),
    ...(headers.length > 0 && { headers }),
    client_cert_id: text('client_cert_id'),
    methods: given(METHODS.filter((method) => list('methods').includes(method))),
    paths: given(list('paths')),
    rules: given(list('rules')),
    reply: given(list('reply')),
    sign: before?.sign && { ...before.sign, key: needed('sign_key') },
    timeout_ms: before?.timeout_ms,
    inbound: isOn('inbound'),
  };
}

/** The limits of a connection, each with its label. */
function limitsOf({ methods, paths, rules, reply, client_cert_id: certificate }: Connection) {
  const all = [
    [T.connections.methods, methods?.join(', ')],
    [T.connections.paths, paths?.join(', ')],
    [T.connections.certificate, certificate],
    [T.connections.rules, rules?.join(', ')],
    [T.connections.reply, reply?.join(', ')],
  ] as const;
  return all.filter(([, text = '']) => text !== '');
}

/** The third parties to which the account sends, without the values of their credentials. */
export function ConnectionsScreen({ session: { client, may } }: { readonly session: Session }) {
  const connections = useLoad(async () => (may('connection:read') ? client.connections.list() : []));
  return (
    <Screen
      title={T.connections.title}
      about={T.connections.about}
      actions={
        <>
          {may('connection:read') && (
            <Export name="connections" rows={() => [connections.kind === 'ready' ? connections.data : []]} />
          )}
          {may('connection:write') && (
            <FormDialog
              label={T.connections.create}
              kind="primary"
              fields={fieldsFor()}
              onSend={(entered) =>
                client.connections.create({ id: entered.needed('id'), ...settingsIn(entered) })
              }
              after={connections.reload}
            />
          )}
        </>
      }
    >
      <List
        of={connections}
        title={T.connections.title}
        empty={may('connection:read') ? T.connections.empty : T.notListed}
        keyOf={({ id }) => id}
        columns={[
          { title: T.connections.id, cell: ({ id }) => <code>{id}</code> },
          {
            title: T.connections.url,
            cell: (connection) => (
              <div>
                {connection.base_url}
                {limitsOf(connection).map(([what, text]) => (
                  <p key={what} class="hint">{`${what}: ${text}`}</p>
                ))}
                {connection.inbound && <p class="hint">{T.connections.inbound}</p>}
              </div>
            ),
            isLong: true,
          },
          { title: T.connections.headers, cell: ({ headers }) => headers.join(', ') },
          { title: T.connections.changed, cell: ({ updated_at }) => <Time at={updated_at} /> },
        ]}
        actions={(connection) =>
          may('connection:write') && (
            <>
              <FormDialog
                label={T.connections.change}
                title={`${T.connections.change}: ${connection.id}`}
                kind="small"
                about={<p>{T.connections.changeAbout}</p>}
                fields={fieldsFor(connection)}
                onSend={(entered) =>
                  client.connections.replace({ id: connection.id, ...settingsIn(entered, connection) })
                }
                after={connections.reload}
                done={T.connections.wasChanged(connection.id)}
              />
              <Confirm
                name={connection.id}
                question={T.connections.removeQuestion}
                onConfirm={() => client.connections.delete({ id: connection.id })}
                after={connections.reload}
              />
            </>
          )
        }
      />
    </Screen>
  );
}
