import { useState } from 'preact/hooks';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, Once, Opener, QrCode } from '../ui/dialog.tsx';
import { PASSPHRASE, useKeyField } from '../ui/fields.tsx';
import { type Entered, Form } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Badge, Copy, Loading, Screen, Short, Time } from '../ui/parts.tsx';
import { isDraft } from './form-draft.ts';

type Kind = 'capture' | 'retrieve';

/** A new endpoint. */
interface Made {
  readonly unique_id: string;
  readonly secret: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** The URL of a form, with the endpoint in the fragment, which browsers do not send. */
function formLink(kind: Kind, form: string, { unique_id, secret, token, reference }: Made): string {
  const fragment = new URLSearchParams({
    ...{ unique_id, secret },
    ...(token !== undefined && { token }),
    ...(reference !== undefined && { reference }),
  });
  return `${location.origin}/v1/${kind}/iframe/${form}#${fragment}`;
}

function Shown({ kind, made, form }: { kind: Kind; made: Made; form: string }) {
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

function Create({ session, kind, after }: { session: Session; kind: Kind; after: () => void }) {
  const { client, may } = session;
  const keyField = useKeyField(session);
  const forms = useLoad(async () => (may('form:write') ? await client.forms.list() : []));
  const [made, setMade] = useState<{ readonly made: Made; readonly form: string }>();
  if (made !== undefined) {
    return <Shown kind={kind} {...made} />;
  }
  const create = async ({ needed, text, list }: Entered): Promise<void> => {
    const uses = text('max_uses');
    const origins = list('origins');
    const shared = {
      user: needed('user'),
      passphrase: needed('passphrase'),
      unique_id: text('unique_id'),
      ttl: text('ttl'),
      reference: text('reference'),
      max_uses: uses === undefined ? undefined : Number(uses),
      rate: text('rate'),
      ...(origins.length > 0 && { origins }),
    };
    const masks = list('mask_fields');
    const limits = { token: text('token'), ...(masks.length > 0 && { mask_fields: masks }) };
    const endpoint =
      kind === 'capture'
        ? await client.capture.create({ ...shared, token: limits.token })
        : await client.retrieve.create({ ...shared, ...limits });
    const { token, reference } = { ...limits, ...shared };
    setMade({ made: { ...endpoint, token, reference }, form: needed('form') });
    after();
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
          { name: 'max_uses', label: T.endpoints.maxUses, hint: T.endpoints.maxUsesHint[kind] },
          { name: 'rate', label: T.endpoints.rate, hint: T.endpoints.rateHint },
          { name: 'origins', label: T.endpoints.origins, hint: T.endpoints.originsHint },
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

/** Endpoints of one kind, through which others store or read. */
export function EndpointsScreen({ session, kind }: { readonly session: Session; readonly kind: Kind }) {
  const { client, may } = session;
  const endpoints = useLoad(() => client[kind].list(), [kind]);
  return (
    <Screen
      title={T.endpoints[kind]}
      about={kind === 'capture' ? T.endpoints.aboutCapture : T.endpoints.aboutRetrieve}
      actions={
        <Opener label={T.endpoints.create} kind="primary">
          <Create session={session} kind={kind} after={endpoints.reload} />
        </Opener>
      }
    >
      <List
        of={endpoints}
        title={T.endpoints[kind]}
        empty={T.endpoints.empty[kind]}
        keyOf={({ unique_id }) => unique_id}
        columns={[
          { title: T.endpoints.id, cell: ({ unique_id }) => <code>{unique_id}</code>, isLong: true },
          { title: T.key, cell: ({ user }) => user },
          {
            title: T.endpoints.state,
            cell: ({ expired }) => (
              <Badge kind={expired ? 'plain' : 'good'}>
                {expired ? T.endpoints.stopped : T.endpoints.active}
              </Badge>
            ),
          },
          { title: T.endpoints.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
          {
            title: T.endpoints.token,
            cell: ({ token }) => (token === undefined ? '' : <Short text={token} />),
          },
          { title: T.endpoints.reference, cell: ({ reference }) => reference },
        ]}
        actions={({ unique_id }) => (
          <>
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
              onConfirm={() => client[kind].delete({ unique_id })}
              after={endpoints.reload}
            />
          </>
        )}
      />
    </Screen>
  );
}
