import { useState } from 'preact/hooks';
import type { Endpoint } from '../../sdk/transport/types.ts';
import { useLoad, useSteps } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, Once, Opener, QrCode } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { choice, Filter, PASSPHRASE, useKeyField } from '../ui/fields.tsx';
import { type Entered, type Field, Form } from '../ui/form.tsx';
import { List } from '../ui/list.tsx';
import { Badge, Copy, Loading, Screen, Short, Time } from '../ui/parts.tsx';
import { isDraft } from './form-draft.ts';

type Kind = 'capture' | 'retrieve';

/** Endpoints that are shown at first, and with each press of the button for more. */
const STEP = 50;

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

/** The states by which a list is filtered; without one it has the active endpoints. */
const STATES = ['stopped', 'all'] as const;

function isWanted(
  { unique_id, user, reference, token, expired }: Endpoint,
  params: ScreenProps['params'],
): boolean {
  const { text, state } = params;
  return (
    (state === 'all' || expired === (state === 'stopped')) &&
    (text === undefined || [unique_id, user, reference, token].some((each) => each?.includes(text)))
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
  const all = endpoints.kind === 'ready' ? endpoints.data : [];
  const found = all.filter((endpoint) => isWanted(endpoint, params));
  const shown = useSteps(endpoints.kind === 'ready' ? { ...endpoints, data: found } : endpoints, STEP);
  const stopped = all.filter(({ expired }) => expired).length;
  const isFiltered = Object.keys(params).length > 0;
  return (
    <Screen
      title={T.endpoints[kind]}
      about={kind === 'capture' ? T.endpoints.aboutCapture : T.endpoints.aboutRetrieve}
      actions={
        <>
          <Export name={`${kind}-endpoints`} rows={() => [found]} />
          <Opener label={T.endpoints.create} kind="primary">
            <Create session={session} kind={kind} after={endpoints.reload} />
          </Opener>
        </>
      }
    >
      <Filter
        screen={kind}
        params={params}
        fields={[
          { name: 'text', label: T.endpoints.search },
          choice(
            'state',
            T.endpoints.state,
            STATES,
            '',
            T.endpoints.active,
            (state) => T.endpoints.states[state],
          ),
        ]}
      />
      <List
        of={shown}
        title={T.endpoints[kind]}
        empty={all.length > 0 || isFiltered ? T.endpoints.noMatch : T.endpoints.empty[kind]}
        keyOf={({ unique_id }) => unique_id}
        columns={[
          { title: T.endpoints.id, cell: ({ unique_id }) => <code>{unique_id}</code>, isLong: true },
          { title: T.key, cell: ({ user }) => user },
          {
            title: T.endpoints.state,
            cell: (endpoint) => (
              <Badge kind={endpoint.expired || isUsedUp(endpoint) ? 'plain' : 'good'}>
                {endpoint.expired
                  ? T.endpoints.states.stopped
                  : isUsedUp(endpoint)
                    ? T.endpoints.usedUp
                    : T.endpoints.active}
              </Badge>
            ),
          },
          { title: T.endpoints.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
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
        actions={({ unique_id }) => (
          <>
            {may('audit:read') && kind === 'retrieve' && (
              <a class="button" href={linkTo('readings', { endpoint: unique_id })}>
                {T.readings.title}
              </a>
            )}
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
      {stopped > 0 && params['state'] === undefined && (
        <p>
          <a href={linkTo(kind, { ...params, state: 'all' })}>{T.endpoints.folded(stopped)}</a>
        </p>
      )}
    </Screen>
  );
}
