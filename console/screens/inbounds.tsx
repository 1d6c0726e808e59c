import { useState } from 'preact/hooks';
import type { Inbound, InboundSource, NewInbound } from '../../sdk/calls/inbound.ts';
import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Once } from '../ui/dialog.tsx';
import { choice, PASSPHRASE, useKeyField } from '../ui/fields.tsx';
import { type Entered, type Field, FieldError, Form, given, pairsOf } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { Copy, Loading } from '../ui/parts.tsx';
import { AccessScreen } from './access.tsx';

/** What a sender runs. */
function exampleOf(origin: string, { url, secret }: NewInbound, path: string): string {
  return [
    `curl ${origin}${url}${path}`,
    `-H 'X-Vault-Capture-Secret: ${secret}'`,
    "-H 'Content-Type: application/json' -d @order.json",
  ].join(' \\\n  ');
}

/** More paths of an item, by their last names or by given ones. */
function includeIn(paths: string[]): InboundSource['include'] {
  const named = paths.filter((path) => path.includes('='));
  if (named.length > 0 && named.length < paths.length) {
    throw new FieldError('include', T.inbound.includeNames);
  }
  return named.length > 0 ? pairsOf(named.join('\n')) : given(paths);
}

/** Where cards are, by the fields of the form. */
function extractIn({ text, list }: Entered): Inbound['extract'] {
  const [number, code, reference, others] = ['number', 'code', 'reference', 'extract'].map(text);
  const include = includeIn(list('include'));
  if (number === undefined) {
    if ([code, reference, others, include].some((each) => each !== undefined)) {
      throw new FieldError('number', T.inbound.needsNumber);
    }
    return 'cards';
  }
  const first: InboundSource = {
    number,
    ...(code !== undefined && { code }),
    ...(include !== undefined && { include }),
    ...(reference !== undefined && { reference }),
  };
  // The API says what is wrong with a value that is no list of such objects.
  return [first].concat(others === undefined ? [] : (jsonIn(others) as InboundSource[]));
}

const PATHS: readonly Field[] = [
  { name: 'number', label: T.inbound.number, hint: T.inbound.numberHint },
  { name: 'code', label: T.inbound.code },
  { name: 'include', label: T.inbound.include, hint: T.inbound.includeHint },
  { name: 'reference', label: T.inbound.reference, hint: T.inbound.referenceHint },
];

const STRICT = ['mask', 'false'] as const;

const MORE: readonly Field[] = [
  { name: 'id', label: T.endpoints.id, hint: T.endpoints.idHint },
  { name: 'secret', label: T.inbound.again, kind: 'passphrase', hint: T.inbound.againHint },
  { name: 'extract', label: T.inbound.extract, kind: 'textarea', hint: T.inbound.extractHint },
  { name: 'allow', label: T.inbound.allow, hint: T.inbound.allowHint },
  { name: 'algorithm', label: T.inbound.algorithm, hint: T.inbound.algorithmHint },
  { name: 'ttl', label: T.inbound.ttl, hint: T.inbound.ttlHint },
  { name: 'metadata', label: T.inbound.metadata, kind: 'textarea', hint: T.inbound.metadataHint },
  { name: 'rate', label: T.endpoints.rate, hint: T.endpoints.rateHint },
  { name: 'ips', label: T.inbound.ips, hint: T.credentials.ipsHint },
  { name: 'expires_in', label: T.inbound.expiresIn, hint: T.inbound.expiresHint },
];

/** A field for the connection: a choice of those that let inbounds through, or a text for who may not list them. */
function useConnections({ client, may }: Session) {
  const load = useLoad(async () => (may('connection:read') ? client.connections.list() : []));
  if (load.kind === 'loading') {
    return undefined;
  }
  const found = load.kind === 'ready' ? load.data.filter(({ inbound }) => inbound === true) : [];
  const ids = found.map(({ id }) => id);
  const field: Field = {
    ...(may('connection:read')
      ? choice('connection', T.inbound.connection, ids, '', T.choose)
      : { name: 'connection', label: T.inbound.connection }),
    ...{ required: true, hint: T.inbound.connectionHint },
  };
  const isNone = load.kind === 'ready' && may('connection:read') && ids.length === 0;
  return { field: isNone ? { ...field, hint: T.inbound.connectionNone } : field, found };
}

function Create({ session, after }: { readonly session: Session; readonly after: () => void }) {
  const { client, origins } = session;
  const keyField = useKeyField(session);
  const connections = useConnections(session);
  const [made, setMade] = useState<{ readonly secret: string; readonly example: string }>();
  if (made !== undefined) {
    return (
      <Once label={T.inbound.secret} text={made.secret}>
        <p class="line">
          <strong>{T.inbound.example}</strong> <Copy text={made.example} />
        </p>
        <pre>{made.example}</pre>
      </Once>
    );
  }
  if (keyField === undefined || connections === undefined) {
    return <Loading />;
  }
  const create = async (entered: Entered): Promise<void> => {
    const { needed, text, list, duration } = entered;
    const strict = text('strict');
    const metadata = text('metadata');
    const connection = needed('connection');
    const inbound = await client.inbound.create({
      ...{ user: needed('user'), passphrase: needed('passphrase'), connection },
      ...{ id: text('id'), secret: text('secret'), extract: extractIn(entered) },
      ...{ allow: given(list('allow')), algorithm: text('algorithm'), ttl: duration('ttl') },
      ...{ rate: text('rate'), ips: given(list('ips')), expires_in: duration('expires_in') },
      strict: strict === 'mask' ? strict : strict !== 'false',
      // The API checks what it is.
      ...(metadata !== undefined && { metadata: jsonIn(metadata) as Record<string, unknown> }),
    });
    const { paths = ['/orders'] } = connections.found.find(({ id }) => id === connection) ?? {};
    setMade({ secret: inbound.secret, example: exampleOf(origins.api, inbound, paths[0] ?? '/orders') });
    after();
  };
  return (
    <Form
      fields={[
        keyField,
        PASSPHRASE,
        connections.field,
        ...PATHS,
        choice(
          'strict',
          T.inbound.strict,
          STRICT,
          '',
          T.inbound.stricts.true,
          (each) => T.inbound.stricts[each],
        ),
        ...MORE.map((field) => ({ ...field, isMore: true })),
      ]}
      send={T.inbound.create}
      onSend={create}
    />
  );
}

/** Where an inbound finds cards, a line for each. */
function numbersOf({ extract }: Inbound): readonly string[] {
  return extract === 'cards' ? [T.inbound.cards] : extract.map(({ number }) => number);
}

/** How fast and from where an inbound can be used, and what it does to numbers elsewhere. */
function limitsOf({ strict, rate, ips = [] }: Inbound): string {
  const elsewhere =
    strict === true
      ? []
      : [`${T.inbound.strict}: ${T.inbound.stricts[strict === 'mask' ? strict : 'false']}`];
  return [...elsewhere, ...(rate === undefined ? [] : [rate]), ...ips].join(', ');
}

/** The list of the items that an inbound has stored: those of its id, or all of its key. */
function itemsOf({ id, user, extract }: Inbound): string {
  const hasOther = extract !== 'cards' && extract.some(({ reference }) => reference !== undefined);
  return linkTo('items', { user, q: hasOther ? undefined : id });
}

/** Inbounds of the account, through which partners send. */
export function InboundsScreen({ session, params }: ScreenProps) {
  const { client, may } = session;
  const inbounds = useLoad(() => client.inbound.list());
  return (
    <AccessScreen
      screen="inbound"
      session={session}
      params={params}
      of={inbounds}
      title={T.inbound.title}
      about={T.inbound.about}
      empty={T.inbound.empty}
      search={T.inbound.search}
      label={T.inbound.create}
      question={T.inbound.stopQuestion}
      idOf={({ id }) => id}
      textsOf={({ user, connection }) => [user, connection]}
      create={may('proxy:send') ? <Create session={session} after={inbounds.reload} /> : undefined}
      columns={[
        { title: T.inbound.connection, cell: ({ connection }) => connection, isLong: true },
        {
          title: T.inbound.found,
          cell: (inbound) => (
            <div>
              {numbersOf(inbound).map((number) => (
                <div key={number}>
                  {number.split(/(?<=\.)/).map((step, at) => (
                    <span key={at}>
                      {step}
                      <wbr />
                    </span>
                  ))}
                </div>
              ))}
            </div>
          ),
          isLong: true,
        },
        { title: T.endpoints.limits, cell: limitsOf },
      ]}
      actions={(inbound) =>
        may('vault:list') && (
          <a class="button" href={itemsOf(inbound)}>
            {T.inbound.items}
          </a>
        )
      }
      stop={({ id }) => client.inbound.delete({ id })}
    />
  );
}
