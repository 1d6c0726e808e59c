import { useId, useState } from 'preact/hooks';
import type { CreateRule, Rule, RuleTestReply } from '../../sdk/transport/types.ts';
import { useLoad } from '../app/load.ts';
import { notify } from '../app/notice.ts';
import { goTo, linkTo } from '../app/route.ts';
import type { ScreenProps, Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { Form } from '../ui/form.tsx';
import { jsonIn } from '../ui/json.ts';
import { List } from '../ui/list.tsx';
import { Badge, Loaded, Panel, Screen } from '../ui/parts.tsx';
import { ARGUMENTS, type OperationName } from './rule-arguments.ts';

/** An operation while it is edited, with its arguments as typed texts. */
interface Draft {
  readonly key: number;
  readonly name: OperationName;
  readonly input: string;
  readonly output: string;
  readonly typed: Readonly<Record<string, string>>;
}

/** The operation of a draft; empty arguments keep their defaults. */
function operationOf({ name, input, output, typed }: Draft): object {
  const given = Object.entries(ARGUMENTS[name]).flatMap(([argument, kind]) => {
    const text = typed[argument] ?? '';
    if (text === '') {
      return [];
    }
    const value =
      kind === 'text' || kind === 'long' ? text : kind === 'list' ? text.split(/\s*,\s*/) : jsonIn(text);
    return [[argument, value] as const];
  });
  return {
    name,
    ...(input !== '' && { input_field: input }),
    ...(output !== '' && { output_field: output }),
    ...(given.length > 0 && { arguments: Object.fromEntries(given) }),
  };
}

function isOperation(name: string): name is OperationName {
  return Object.hasOwn(ARGUMENTS, name);
}

function draftOf(operation: Rule['operations'][number], key: number): Draft {
  const { name, input_field: input = '', output_field: output = '', arguments: given = {} } = operation;
  const typed = Object.entries(given).map(([argument, value]): [string, string] => [
    argument,
    typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value),
  ]);
  return { key, name: isOperation(name) ? name : 'noop', input, output, typed: Object.fromEntries(typed) };
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly isLong?: boolean;
}

function Text({ label, value, onInput, isLong }: TextProps) {
  const id = useId();
  const shared = { id, value, autocomplete: 'off', spellcheck: false } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...shared} rows={3} onInput={({ currentTarget }) => onInput(currentTarget.value)} />
      ) : (
        <input {...shared} onInput={({ currentTarget }) => onInput(currentTarget.value)} />
      )}
    </div>
  );
}

interface OperationProps {
  readonly draft: Draft;
  readonly change: (changed: Partial<Draft>) => void;
}

function OperationForm({ draft: { name, input, output, typed }, change }: OperationProps) {
  return (
    <div class="compact">
      <label class="field">
        {T.rules.name}
        <select
          value={name}
          onChange={({ currentTarget: { value } }) =>
            isOperation(value) && change({ name: value, typed: {} })
          }
        >
          {Object.keys(ARGUMENTS).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <Text label={T.rules.input} value={input} onInput={(text) => change({ input: text })} />
      <Text label={T.rules.output} value={output} onInput={(text) => change({ output: text })} />
      {Object.entries(ARGUMENTS[name]).map(([argument, kind]) => (
        <Text
          key={argument}
          label={argument}
          value={typed[argument] ?? ''}
          isLong={kind === 'long'}
          onInput={(text) => change({ typed: { ...typed, [argument]: text } })}
        />
      ))}
    </div>
  );
}

interface OperationsProps {
  readonly drafts: readonly Draft[];
  readonly setDrafts: (drafts: readonly Draft[]) => void;
}

function Operations({ drafts, setDrafts }: OperationsProps) {
  const [next, setNext] = useState(drafts.length);
  const change = (at: number) => (changed: Partial<Draft>) =>
    setDrafts(drafts.map((draft, place) => (place === at ? { ...draft, ...changed } : draft)));
  return (
    <>
      <ol class="operations">
        {drafts.map((draft, at) => (
          <li key={draft.key}>
            <OperationForm draft={draft} change={change(at)} />
            <div class="actions">
              {at > 0 && (
                <button
                  type="button"
                  class="small"
                  onClick={() => setDrafts(drafts.toSpliced(at, 1).toSpliced(at - 1, 0, draft))}
                >
                  {T.rules.earlier}
                </button>
              )}
              <button type="button" class="small" onClick={() => setDrafts(drafts.toSpliced(at, 1))}>
                {T.rules.drop}
              </button>
            </div>
          </li>
        ))}
      </ol>
      <button
        type="button"
        onClick={() => {
          setDrafts([...drafts, { key: next, name: 'substr', input: '', output: '', typed: {} }]);
          setNext(next + 1);
        }}
      >
        {T.rules.add}
      </button>
    </>
  );
}

function Result({ of: { output, steps } }: { readonly of: RuleTestReply }) {
  return (
    <div role="status">
      <h3>{T.rules.result}</h3>
      <pre>{JSON.stringify(output, null, 2)}</pre>
      <h3>{T.rules.steps}</h3>
      <ol>
        {steps.map(({ name, output_field, skipped, reason }) => (
          <li key={`${name} ${output_field}`}>
            <code>{`${name} → ${output_field}`}</code>{' '}
            {skipped && <Badge kind="wait">{`${T.rules.skipped}${reason ?? ''}`}</Badge>}
          </li>
        ))}
      </ol>
    </div>
  );
}

function Editor({
  session: { client, may },
  operations,
}: {
  session: Session;
  operations: Rule['operations'];
}) {
  const [drafts, setDrafts] = useState<readonly Draft[]>(operations.map(draftOf));
  const [result, setResult] = useState<RuleTestReply>();
  // The vault checks operations, and names the place of an error.
  const list = (): CreateRule['operations'] => drafts.map(operationOf) as CreateRule['operations'];
  return (
    <div class="halves">
      <Panel title={T.rules.operations}>
        <Operations drafts={drafts} setDrafts={setDrafts} />
        {may('rule:write') && (
          <Form
            fields={[{ name: 'id', label: T.rules.id, required: true }]}
            send={T.rules.save}
            onSend={async ({ needed }) => {
              await client.rules.create({ id: needed('id'), operations: list() });
              goTo('rules');
              notify(T.rules.saved);
            }}
          />
        )}
      </Panel>
      {may('rule:read') && (
        <Panel title={T.rules.test}>
          <Form
            fields={[
              {
                ...{ name: 'input', label: T.rules.testInput, kind: 'textarea', hint: T.rules.testHint },
                value: '{ "card_number": "4111111111111111", "expiry_year": "2031" }',
              },
            ]}
            send={T.rules.testSend}
            onSend={async ({ needed }) => {
              const input = jsonIn(needed('input')) as Record<string, unknown>;
              setResult(await client.rules.test({ operations: list(), input }));
            }}
          />
          {result && <Result of={result} />}
        </Panel>
      )}
    </div>
  );
}

/** A new rule, empty or copied from another one, with a dry run. */
export function RuleScreen({ session, params: { id } }: ScreenProps) {
  const { client, may } = session;
  const template = useLoad(
    async () => (id === undefined || !may('rule:read') ? [] : (await client.rules.get({ id })).operations),
    [id],
  );
  return (
    <Screen title={T.rules.editor} up={[linkTo('rules'), T.rules.title]}>
      <Loaded of={template}>{(operations) => <Editor session={session} operations={operations} />}</Loaded>
    </Screen>
  );
}

/** The rules of the account. */
export function RulesScreen({ session: { client, may } }: { readonly session: Session }) {
  const rules = useLoad(async () => (may('rule:read') ? client.rules.list() : []));
  return (
    <Screen
      title={T.rules.title}
      about={T.rules.about}
      actions={
        <>
          {may('rule:read') && (
            <Export name="rules" rows={() => [rules.kind === 'ready' ? rules.data : []]} />
          )}
          {may('rule:write') && (
            <a class="button primary" href={linkTo('rule')}>
              {T.rules.create}
            </a>
          )}
        </>
      }
    >
      <List
        of={rules}
        title={T.rules.title}
        empty={may('rule:read') ? T.rules.empty : T.notListed}
        keyOf={({ id }) => id}
        columns={[
          { title: T.rules.id, cell: ({ id }) => <code>{id}</code> },
          {
            title: T.rules.operations,
            cell: ({ operations }) => operations.map(({ name }) => name).join(' → '),
          },
        ]}
        actions={({ id }) => (
          <>
            <a class="button" href={linkTo('rule', { id })}>
              {T.rules.copyOf}
            </a>
            {may('rule:write') && (
              <Confirm
                name={id}
                question={T.rules.removeQuestion}
                onConfirm={() => client.rules.delete({ id })}
                after={rules.reload}
              />
            )}
          </>
        )}
      />
    </Screen>
  );
}
