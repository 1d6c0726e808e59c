import { useState } from 'preact/hooks';
import type { Endpoint } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm, Once, Opener, QrCode } from '../ui/dialog.tsx';
import { PASSPHRASE, useKeyField } from '../ui/fields.tsx';
import { type Entered, Form } from '../ui/form.tsx';
import { Badge, Copy, Loaded, Loading, Screen, Short, Table, Time } from '../ui/parts.tsx';
import { isDraft } from './form-draft.ts';

type Kind = 'capture' | 'retrieve';

/** What was made, with the secret that is shown once. */
interface Made {
  readonly unique_id: string;
  readonly secret: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** The form with the endpoint in its fragment, which browsers send to nobody. */
function formLink(kind: Kind, form: string, { unique_id, secret, token, reference }: Made): string {
  const fragment = new URLSearchParams({
    ...{ unique_id, secret },
    ...(token !== undefined && { token }),
    ...(reference !== undefined && { reference }),
  });
  return `${location.origin}/v1/${kind}/iframe/${form}#${fragment}`;
}

function Shown({ kind, made, form }: { readonly kind: Kind; readonly made: Made; readonly form: string }) {
  const link = formLink(kind, form, made);
  const isComplete = kind === 'capture' || made.token !== undefined;
  return (
    <Once label={T.endpoints.secret} text={made.secret}>
      {isComplete && (
        <>
          <p class="line">
            <a href={link} target="_blank" rel="noreferrer">
              {T.endpoints.link}
            </a>{' '}
            <Copy text={link} />
          </p>
          <QrCode text={link} label={T.endpoints.qr} />
        </>
      )}
    </Once>
  );
}

interface CreateParts {
  readonly session: Session;
  readonly kind: Kind;
  readonly onChange: () => void;
}

function Create({ session, kind, onChange }: CreateParts) {
  const { client, may } = session;
  const keyField = useKeyField(session);
  const forms = useLoad(async () => (may('form:write') ? await client.forms.list() : []));
  const [made, setMade] = useState<{ readonly made: Made; readonly form: string }>();
  if (made !== undefined) {
    return <Shown kind={kind} {...made} />;
  }
  const create = async ({ needed, text, list }: Entered): Promise<void> => {
    const shared = {
      user: needed('user'),
      passphrase: needed('passphrase'),
      unique_id: text('unique_id'),
      ttl: text('ttl'),
      reference: text('reference'),
    };
    const masks = list('mask_fields');
    const limits = { token: text('token'), ...(masks.length > 0 && { mask_fields: masks }) };
    const endpoint =
      kind === 'capture'
        ? await client.capture.create({ ...shared, token: limits.token })
        : await client.retrieve.create({ ...shared, ...limits });
    const { token, reference } = { ...limits, ...shared };
    setMade({ made: { ...endpoint, token, reference }, form: needed('form') });
    onChange();
  };
  return keyField === undefined || forms.kind === 'loading' ? (
    <Loading />
  ) : (
    <Form
      fields={[
        keyField,
        PASSPHRASE,
        {
          name: 'form',
          label: T.endpoints.form,
          kind: 'select',
          options: [
            ['pcd', T.endpoints.builtIn(T.forms.types.pcd)],
            ['ach', T.endpoints.builtIn(T.forms.types.ach)],
            ...(forms.kind === 'ready'
              ? forms.data.filter(({ id }) => !isDraft(id)).map(({ id }) => [id, id] as const)
              : []),
          ],
        },
        { name: 'ttl', label: T.endpoints.ttl, hint: T.endpoints.ttlHint },
        { name: 'reference', label: T.endpoints.reference, hint: T.endpoints.referenceHint[kind] },
        ...[
          { name: 'unique_id', label: T.endpoints.id, hint: T.endpoints.idHint },
          { name: 'token', label: T.endpoints.token, hint: T.endpoints.tokenHint[kind] },
          ...(kind === 'retrieve'
            ? [{ name: 'mask_fields', label: T.endpoints.masks, hint: T.endpoints.masksHint }]
            : []),
        ].map((field) => ({ ...field, isMore: true })),
      ]}
      send={T.endpoints.create}
      onSend={create}
    />
  );
}

function columnsOf({ session: { client, may }, kind, onChange }: CreateParts) {
  return [
    { title: T.endpoints.id, cell: ({ unique_id }: Endpoint) => <code>{unique_id}</code>, isLong: true },
    { title: T.key, cell: ({ user }: Endpoint) => user },
    {
      title: T.endpoints.state,
      cell: ({ expired }: Endpoint) => (
        <Badge kind={expired ? 'plain' : 'good'}>{expired ? T.endpoints.stopped : T.endpoints.active}</Badge>
      ),
    },
    { title: T.endpoints.expires, cell: ({ expires_at }: Endpoint) => <Time at={expires_at} /> },
    {
      title: T.endpoints.token,
      cell: ({ token }: Endpoint) => (token === undefined ? '' : <Short text={token} />),
    },
    { title: T.endpoints.reference, cell: ({ reference }: Endpoint) => reference },
    {
      title: T.actions,
      cell: ({ unique_id }: Endpoint) => (
        <div class="actions">
          {may('audit:read') && (
            <a class="button" href={linkTo('log', { action: 'endpoint.use', object: unique_id })}>
              {T.endpoints.refusals}
            </a>
          )}
          <Confirm
            name={unique_id}
            label={T.endpoints.stop}
            question={T.endpoints.stopQuestion}
            done={T.endpoints.wasStopped(unique_id)}
            onConfirm={async () => {
              await client[kind].delete({ unique_id });
              onChange();
            }}
          />
        </div>
      ),
    },
  ];
}

/** Endpoints of one kind: who else may store, or read. */
export function EndpointsScreen({ session, kind }: { readonly session: Session; readonly kind: Kind }) {
  const endpoints = useLoad(() => session.client[kind].list(), [kind]);
  const parts = { session, kind, onChange: endpoints.reload };
  return (
    <Screen
      title={T.endpoints[kind]}
      about={kind === 'capture' ? T.endpoints.aboutCapture : T.endpoints.aboutRetrieve}
      actions={
        <Opener label={T.endpoints.create} kind="primary">
          {() => <Create {...parts} />}
        </Opener>
      }
    >
      <Loaded of={endpoints}>
        {(rows) => (
          <Table
            label={T.endpoints[kind]}
            rows={rows}
            empty={T.endpoints.empty[kind]}
            keyOf={({ unique_id }) => unique_id}
            columns={columnsOf(parts)}
          />
        )}
      </Loaded>
    </Screen>
  );
}
