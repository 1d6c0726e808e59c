import { useId, useState } from 'preact/hooks';
import type { FormAdditionalField } from '../../sdk/transport/types.ts';
import { T } from '../app/text.ts';

type FieldType = NonNullable<FormAdditionalField['type']>;

/** A field while it is edited. Members without a control here stay. */
export interface ExtraField {
  readonly key: number;
  readonly field: FormAdditionalField;
}

export function extraOf(fields: readonly FormAdditionalField[] | null | undefined): readonly ExtraField[] {
  return (fields ?? []).map((field, key) => ({ key, field }));
}

/** The fields as the vault takes them. */
export function fieldsIn(extra: readonly ExtraField[]): FormAdditionalField[] {
  return extra.map(({ field: { label = '', options, ...field } }) => ({
    ...field,
    ...(label !== '' && { label }),
    ...(field.type === 'select' && options && { options }),
  }));
}

/** True for a field that can be shown: it has a name, and choices if it is a list. */
export function isComplete({ field: { name, type, options = [] } }: ExtraField): boolean {
  return name !== '' && (type !== 'select' || options.length > 0);
}

/** The stored value of a choice, which is also its label by default. */
function choiceText(option: NonNullable<FormAdditionalField['options']>[number]): string {
  return typeof option === 'string' ? option : option.value;
}

/** Choices from typed text; unchanged ones keep their labels. */
function choicesIn(text: string, before: FormAdditionalField['options'] = []) {
  const values = text.split(/\s*,\s*/).filter((value) => value !== '');
  return values.map((value) => before.find((option) => choiceText(option) === value) ?? value);
}

interface RowProps {
  readonly field: FormAdditionalField;
  readonly change: (field: FormAdditionalField) => void;
}

/** Controls of a field. They listen to `input`, because rendering between `input` and `change` would undo the change. */
function Row({ field, change }: RowProps) {
  const id = useId();
  const { name, label = '', type = 'text', required = false, options = [] } = field;
  const [choices, setChoices] = useState(options.map(choiceText).join(', '));
  const text = (part: 'name' | 'label', value: string) => (
    <label class="field">
      {T.forms.extra[part]}
      <input
        {...{ value, required: part === 'name', autocomplete: 'off', spellcheck: false }}
        pattern={part === 'name' ? '[A-Za-z0-9_.\\-]{1,64}' : undefined}
        title={part === 'name' ? T.forms.extra.nameHint : undefined}
        onInput={({ currentTarget }) => change({ ...field, [part]: currentTarget.value })}
      />
    </label>
  );
  return (
    <div class="compact">
      {text('name', name)}
      {text('label', label)}
      <label class="field">
        {T.forms.type}
        <select
          value={type}
          onInput={({ currentTarget: { value } }) => change({ ...field, type: value as FieldType })}
        >
          {Object.entries(T.forms.extra.types).map(([each, shown]) => (
            <option key={each} value={each}>
              {shown}
            </option>
          ))}
        </select>
      </label>
      {type === 'select' && (
        <div class="field">
          <label for={id}>{T.forms.extra.options}</label>
          <input
            {...{ id, required: true, value: choices, autocomplete: 'off' }}
            onInput={({ currentTarget: { value } }) => {
              setChoices(value);
              change({ ...field, options: choicesIn(value, options) });
            }}
          />
        </div>
      )}
      <label class="tick">
        <input
          type="checkbox"
          checked={required}
          onInput={({ currentTarget: { checked } }) => change({ ...field, required: checked })}
        />{' '}
        {T.forms.extra.required}
      </label>
    </div>
  );
}

/** Adds, changes and removes additional fields. */
export function ExtraFields({ fields, setFields }: ExtraProps) {
  const [next, setNext] = useState(fields.length);
  return (
    <fieldset class="extra">
      <legend>{T.forms.fields}</legend>
      {fields.map(({ key, field }, at) => (
        <div key={key} class="row">
          <Row field={field} change={(changed) => setFields(fields.with(at, { key, field: changed }))} />
          <button type="button" class="small" onClick={() => setFields(fields.toSpliced(at, 1))}>
            {`${T.forms.extra.drop} ${field.label ?? field.name}`}
          </button>
        </div>
      ))}
      <button
        type="button"
        onClick={({ currentTarget }) => {
          setFields([...fields, { key: next, field: { name: `field_${next + 1}` } }]);
          setNext(next + 1);
          const place = currentTarget.parentElement;
          requestAnimationFrame(() => place?.querySelector<HTMLElement>('.row:last-of-type input')?.focus());
        }}
      >
        {T.forms.extra.add}
      </button>
    </fieldset>
  );
}

interface ExtraProps {
  readonly fields: readonly ExtraField[];
  readonly setFields: (fields: readonly ExtraField[]) => void;
}
