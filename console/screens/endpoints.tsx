import { useState } from 'preact/hooks';
import type { Endpoint } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Once, Opener, QrCode } from '../ui/dialog.tsx';
import { PASSPHRASE, useKeyField } from '../ui/fields.tsx';
import { type Entered, type Field, Form } from '../ui/form.tsx';
import { Copy, Loading, Short } from '../ui/parts.tsx';
import { AccessScreen } from './access.tsx';
import { isDraft } from './form-draft.ts';

type Kind = 'capture' | 'retrieve';

/** A new endpoint. */
interface Made {
  readonly unique_id: string;
  readonly secret: string;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** The item that a link shows. */
interface Shown {
  readonly user: string;
  readonly token: string;
  readonly reference: string | undefined;
}

/** The URL of a form, with the endpoint in the fragment, which browsers do not send. */
function formLink(
  origin: string,
  kind: Kind,
  form: string,
  { unique_id, secret, token, reference }: Made,
): string {
  const fragment = new URLSearchParams({
    ...{ unique_id, secret },
    ...(token !== undefined && { token }),
    ...(reference !== undefined && { reference }),
  });
  return `${origin}/v1/${kind}/iframe/${form}#${fragment}`;
}

/** A new endpoint with the link to its form. A retrieval endpoint has one if it names its item. */
function NewEndpoint({ kind, made, link }: { kind: Kind; made: Made; link: string }) {
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

interface CreateProps {
  readonly session: Session;
  readonly kind: Kind;
  /** The item of a link; without it the form asks for the key, and what it may be limited to. */
  readonly of?: Shown;
  readonly after?: () => void;
}

/** The fields that name what an endpoint is for. */
function limitsOf(kind: Kind): readonly Field[] {
  return [
    { name: 'reference', label: T.endpoints.reference, hint: T.endpoints.referenceHint[kind] },
    { name: 'unique_id', label: T.endpoints.id, hint: T.endpoints.idHint, isMore: true },
    { name: 'token', label: T.endpoints.token, hint: T.endpoints.tokenHint[kind], isMore: true },
  ];
}

/** The form for a new endpoint, or for a link to an item. */
function Create({ session, kind, of, after }: CreateProps) {
  const { client, may, origins } = session;
  const keyField = useKeyField(session);
  const forms = useLoad(async () => (may('form:write') ? await client.forms.list() : []));
  const [made, setMade] = useState<{ readonly made: Made; readonly link: string }>();
  if (made !== undefined && of !== undefined) {
    return (
      <Once label={T.endpoints.link} text={made.link}>
        <QrCode text={made.link} label={T.endpoints.qr} />
        <p class="hint">{T.endpoints.linkEnds}</p>
      </Once>
    );
  }
  if (made !== undefined) {
    return <NewEndpoint kind={kind} {...made} />;
  }
  const create = async ({ needed, text, list, duration }: Entered): Promise<void> => {
    const uses = text('max_uses');
    const allowed = list('origins');
    const shared = {
      user: of?.user ?? needed('user'),
      passphrase: needed('passphrase'),
      unique_id: text('unique_id'),
      ttl: duration('ttl'),
      reference: of ? of.reference : text('reference'),
      max_uses: uses === undefined ? undefined : Number(uses),
      rate: text('rate'),
      ...(allowed.length > 0 && { origins: allowed }),
    };
    const masks = list('mask_fields');
    const limits = { token: of?.token ?? text('token'), ...(masks.length > 0 && { mask_fields: masks }) };
    const endpoint =
      kind === 'capture'
        ? await client.capture.create({ ...shared, token: limits.token })
        : await client.retrieve.create({ ...shared, ...limits });
    const { unique_id, secret } = endpoint;
    const complete: Made = { unique_id, secret, token: limits.token, reference: shared.reference };
    setMade({ made: complete, link: formLink(origins.forms, kind, needed('form'), complete) });
    after?.();
  };
  return keyField === undefined || forms.kind === 'loading' ? (
    <Loading />
  ) : (
    <Form
      fields={[
        ...(of ? [] : [keyField]),
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
        ...(of ? [] : limitsOf(kind)),
        ...[
          { name: 'max_uses', label: T.endpoints.maxUses, hint: T.endpoints.maxUsesHint[kind] },
          { name: 'rate', label: T.endpoints.rate, hint: T.endpoints.rateHint },
          { name: 'origins', label: T.endpoints.origins, hint: T.endpoints.originsHint },
          ...(kind === 'retrieve'
            ? [{ name: 'mask_fields', label: T.endpoints.masks, hint: T.endpoints.masksHint }]
            : []),
        ].map((field) => ({ ...field, isMore: true })),
      ]}
      send={of ? T.endpoints.makeLink : T.endpoints.create}
      onSend={create}
    />
  );
}

/** A button for a link by which somebody without a sign-in sees one item. */
export function MakeLink({ session, item }: { readonly session: Session; readonly item: Shown }) {
  return (
    <Opener label={T.endpoints.makeLink} kind="primary">
      <p class="soft">{T.endpoints.makeLinkAbout}</p>
      <Create session={session} kind="retrieve" of={item} />
    </Opener>
  );
}

/** True if an endpoint has had all its uses. */
function isUsedUp({ max_uses = Number.POSITIVE_INFINITY, uses = 0 }: Endpoint): boolean {
  return uses >= max_uses;
}

/** How often, how fast and from where an endpoint can be used. */
function boundsOf({ max_uses, uses = 0, rate, origins = [] }: Endpoint): readonly string[] {
  return [
    ...(max_uses === undefined ? [] : [T.endpoints.usesOf(uses, max_uses)]),
    ...(rate === undefined ? [] : [rate]),
    ...origins,
  ];
}

/** Endpoints of one kind, through which others store or read. */
export function EndpointsScreen({ session, params, kind }: ScreenProps & { readonly kind: Kind }) {
  const { client, may } = session;
  const endpoints = useLoad(() => client[kind].list(), [kind]);
  return (
    <AccessScreen
      screen={kind}
      session={session}
      params={params}
      of={endpoints}
      title={T.endpoints[kind]}
      about={kind === 'capture' ? T.endpoints.aboutCapture : T.endpoints.aboutRetrieve}
      empty={T.endpoints.empty[kind]}
      search={T.endpoints.search}
      label={T.endpoints.create}
      question={T.endpoints.stopQuestion}
      idOf={({ unique_id }) => unique_id}
      textsOf={({ user, reference, token }) => [user, reference, token]}
      isUsedUp={isUsedUp}
      create={<Create session={session} kind={kind} after={endpoints.reload} />}
      columns={[
        {
          title: T.endpoints.token,
          cell: ({ token }) => (token === undefined ? '' : <Short text={token} />),
        },
        {
          title: T.endpoints.reference,
          cell: ({ reference, reference_field }) =>
            reference_field === undefined ? reference : T.endpoints.referenceAt(reference_field),
        },
        { title: T.endpoints.limits, cell: (endpoint) => boundsOf(endpoint).join(', ') },
      ]}
      actions={({ unique_id }) =>
        may('audit:read') &&
        kind === 'retrieve' && (
          <a class="button" href={linkTo('readings', { endpoint: unique_id })}>
            {T.readings.title}
          </a>
        )
      }
      stop={({ unique_id }) => client[kind].delete({ unique_id })}
    />
  );
}
