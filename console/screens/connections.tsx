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

const FIELDS: readonly Field[] = [
  { name: 'id', label: T.connections.id, required: true },
  {
    ...{ name: 'base_url', label: T.connections.url, required: true, value: 'https://' },
    hint: T.connections.urlHint,
  },
  { name: 'header', label: T.connections.header, value: 'Authorization' },
  { name: 'value', label: T.connections.value, kind: 'passphrase', hint: T.connections.valueHint },
  {
    ...({ name: 'methods', label: T.connections.methods, kind: 'many', isMore: true } as const),
    options: METHODS.map((method) => [method, method] as const),
  },
  { name: 'paths', label: T.connections.paths, hint: T.connections.pathsHint, isMore: true },
  { name: 'client_cert_id', label: T.connections.certificate, isMore: true },
  { name: 'rules', label: T.connections.rules, hint: T.endpoints.masksHint, isMore: true },
  { name: 'reply', label: T.connections.reply, hint: T.connections.replyHint, isMore: true },
];

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
  const create = async ({ needed, text, list }: Entered): Promise<void> => {
    const value = text('value');
    await client.connections.create({
      ...{ id: needed('id'), base_url: needed('base_url'), client_cert_id: text('client_cert_id') },
      ...(value !== undefined && { headers: [{ [needed('header')]: value }] }),
      methods: given(METHODS.filter((method) => list('methods').includes(method))),
      paths: given(list('paths')),
      rules: given(list('rules')),
      reply: given(list('reply')),
    });
  };
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
              fields={FIELDS}
              onSend={create}
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
              </div>
            ),
            isLong: true,
          },
          { title: T.connections.headers, cell: ({ headers }) => headers.join(', ') },
          { title: T.connections.changed, cell: ({ updated_at }) => <Time at={updated_at} /> },
        ]}
        actions={({ id }) =>
          may('connection:write') && (
            <Confirm
              name={id}
              question={T.connections.removeQuestion}
              onConfirm={() => client.connections.delete({ id })}
              after={connections.reload}
            />
          )
        }
      />
    </Screen>
  );
}
