import type { CreateSubscription, Subscription } from '../../sdk/calls/event.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import { eventTypes } from '../app/schema.macro.ts' with { type: 'macro' };
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { EVENTS, eventsIn } from '../app/words.ts';
import { Confirm, FormDialog } from '../ui/dialog.tsx';
import { type Entered, type Field, FieldError } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { List } from '../ui/list.tsx';
import { Badge, Screen, Time } from '../ui/parts.tsx';

/** The type that is only ever named, and has a field of its own: it costs far more than the others. */
const READ = 'item.read';
const TYPES = eventTypes();
const SECRET_BYTES = 32;

/** A secret of Standard Webhooks. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

/** The fields for a new subscription, or for another state of one, whose secret has to be typed again. */
function fieldsFor(subscription?: Subscription): readonly Field[] {
  const { url = 'https://', types = [], metadata, max_attempts: attempts } = subscription ?? {};
  return [
    { name: 'url', label: T.events.url, required: true, value: url },
    {
      ...({ name: 'secret', label: T.events.secret, kind: 'passphrase' } as const),
      hint: T.events.secretHint[subscription === undefined ? 'create' : 'change'],
    },
    {
      ...({ name: 'types', label: T.events.types, kind: 'many', hasCodes: true } as const),
      value: types.join(),
      options: TYPES.filter((type) => type !== READ).map((type) => [type, EVENTS[type]] as const),
    },
    {
      ...({ name: READ, label: T.events.read, kind: 'checkbox', hint: T.events.readHint } as const),
      value: types.includes(READ),
    },
    {
      ...({ name: 'metadata', label: T.events.metadata, kind: 'textarea', isMore: true } as const),
      ...{ hint: T.events.metadataHint, value: metadata === undefined ? '' : JSON.stringify(metadata) },
    },
    {
      ...({ name: 'max_attempts', label: T.events.attempts, kind: 'number', isMore: true } as const),
      ...{ hint: T.events.attemptsHint, value: String(attempts ?? '') },
    },
  ];
}

/**
 * Creates or replaces a subscription as it was entered. Without a typed secret it has a new one, which is returned:
 * anyone can forge calls that are not signed.
 */
async function send(
  { needed, text, list, isOn }: Entered,
  to: (body: CreateSubscription) => Promise<unknown>,
): Promise<string | undefined> {
  const [typed, metadata, attempts] = [text('secret'), text('metadata'), text('max_attempts')];
  const secret = typed ?? newSecret();
  const chosen = list('types');
  const types = TYPES.filter((type) => (type === READ ? isOn(READ) : chosen.includes(type)));
  if (types.length === 0) {
    // The API's message lists all types.
    throw new FieldError('types', T.events.noTypes);
  }
  await to({
    ...{ url: needed('url'), secret, types },
    // The API says what is wrong with a value that is no object.
    ...(metadata !== undefined && { metadata: jsonIn(metadata) as Record<string, unknown> }),
    ...(attempts !== undefined && { max_attempts: Number(attempts) }),
  });
  return typed === undefined ? secret : undefined;
}

/** A URL, which breaks before its path rather than in a word. */
function Place({ url }: Subscription) {
  const [origin = '', ...path] = url.split(/(?<=[^/])(?=\/[^/])/);
  return (
    <span>
      {origin}
      <wbr />
      {path.join('')}
    </span>
  );
}

/** Whether events are sent, in words. */
function State({
  failing_since,
  paused_since,
  paused_because = 'failing',
  left_out = 0,
  waiting,
}: Subscription) {
  const since = paused_since ?? failing_since;
  const [kind, word] =
    paused_since !== undefined
      ? (['bad', T.events.paused] as const)
      : failing_since !== undefined
        ? (['wait', T.events.failing] as const)
        : (['good', T.events.active] as const);
  return (
    <div>
      <Badge kind={kind}>{word}</Badge>
      {since !== undefined && (
        <>
          {` ${T.events.since} `}
          <Time at={since} />
        </>
      )}
      {paused_since !== undefined && (
        <>
          <p class="hint">{T.events.because[paused_because]}</p>
          <p class="hint">{T.events.leftOut(left_out)}</p>
        </>
      )}
      <p class="hint">{T.events.waiting(waiting)}</p>
    </div>
  );
}

/** Event subscriptions: which events go where, how many wait, and which subscription is paused. */
export function EventsScreen({ session: { client, may } }: { readonly session: Session }) {
  const subscriptions = useLoad(() => client.events.list());
  const after = subscriptions.reload;
  return (
    <Screen
      title={T.events.title}
      about={T.events.about}
      actions={
        <FormDialog
          label={T.events.create}
          kind="primary"
          fields={fieldsFor()}
          secret={T.events.secretMade}
          onSend={(entered) => send(entered, client.events.create)}
          after={after}
        />
      }
    >
      <List
        of={subscriptions}
        title={T.events.title}
        empty={T.events.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.events.url, cell: Place, isLong: true },
          {
            title: T.events.types,
            cell: ({ types }) => <span title={types.join(', ')}>{eventsIn(types)}</span>,
          },
          { title: T.events.state, cell: State },
        ]}
        actions={(subscription) => {
          const { id, url, paused_since } = subscription;
          const isPaused = paused_since !== undefined;
          const change = isPaused ? T.events.resume : T.events.change;
          return (
            <>
              {may('job:read') && (
                <a class="button" href={linkTo('jobs', { kind: 'event', status: 'all' })}>
                  {T.events.deliveries}
                </a>
              )}
              <FormDialog
                label={T.events.test}
                kind="small"
                about={<p>{T.events.testAbout(url)}</p>}
                fields={[]}
                onSend={() => client.events.test({ id })}
                after={after}
                done={T.events.tested(url)}
              />
              <FormDialog
                label={change}
                title={`${change}: ${url}`}
                kind={isPaused ? 'primary' : 'small'}
                about={<p>{isPaused ? T.events.resumeAbout : T.events.changeAbout}</p>}
                fields={fieldsFor(subscription)}
                secret={T.events.secretMade}
                onSend={(entered) => send(entered, (body) => client.events.replace({ id, ...body }))}
                after={after}
                done={isPaused ? T.events.wasResumed(url) : T.events.wasChanged(url)}
              />
              <Confirm
                name={url}
                question={T.events.removeQuestion}
                onConfirm={() => client.events.delete({ id })}
                after={after}
              />
            </>
          );
        }}
      />
    </Screen>
  );
}
