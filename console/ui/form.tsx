/** Forms: described by their fields, sent by one function, with the vault's errors beside the field they are about. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import { useWork } from '../app/load.ts';
import { messageOf } from '../app/session.ts';
import { T } from '../text/text.ts';
import { useHold } from './hold.ts';

/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly kind?:
    | 'text'
    | 'password'
    | 'new-password'
    | 'passphrase'
    | 'number'
    | 'datetime-local'
    | 'textarea'
    | 'checkbox'
    | 'select'
    | 'many';
  readonly required?: boolean;
  readonly value?: string | boolean;
  readonly placeholder?: string;
  /** Of a select, or of many: values with their labels. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  readonly autocomplete?: string;
  /** Shown only where somebody asks for more. */
  readonly isMore?: boolean;
}

/** What a form gives to its function. */
export interface Entered {
  readonly text: (name: string) => string | undefined;
  readonly needed: (name: string) => string;
  readonly isOn: (name: string) => boolean;
  readonly list: (name: string) => string[];
}

/** What a form holds now. */
export function enteredIn(form: HTMLFormElement): Entered {
  const data = new FormData(form);
  const text = (name: string): string | undefined => {
    const value = data.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    text,
    needed: (name) => text(name) ?? '',
    isOn: (name) => data.has(name),
    list: (name) =>
      data
        .getAll(name)
        .flatMap((value) => String(value).split(/[\s,]+/))
        .filter((each) => each !== ''),
  };
}

/** Texts for an item of the vault: `a=b`, one a line, as an object. */
export function pairsOf(text: string | undefined): Record<string, string> | undefined {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf('=');
    return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

/** Focuses the first field, if there is one. */
export function focusFirst(place: Element | null): void {
  place?.querySelector<HTMLElement>('input, select, textarea')?.focus();
}

const PLAIN = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false } as const;

function Control({ field, id, describedBy, isWrong }: ControlParts) {
  const { name, kind = 'text', required = false, value, placeholder, options = [] } = field;
  const shared = {
    ...{ id, name, required, placeholder, 'aria-describedby': describedBy, 'aria-invalid': isWrong },
    ...PLAIN,
  };
  const given = typeof value === 'string' ? value : undefined;
  if (kind === 'textarea') {
    return <textarea {...shared} rows={4} defaultValue={given} />;
  }
  if (kind === 'select') {
    return (
      <select {...shared}>
        {options.map(([each, label]) => (
          // The types do not know what a form is reset to.
          <option key={each} value={each} {...{ defaultSelected: each === given }}>
            {label}
          </option>
        ))}
      </select>
    );
  }
  if (kind === 'checkbox') {
    return <input {...shared} type="checkbox" required={false} defaultChecked={value === true} />;
  }
  if (kind === 'passphrase') {
    // In a field for passwords, browsers fill in the sign-in, and offer to save what is typed in its place.
    return <input {...shared} type="text" class="masked" />;
  }
  const type = kind === 'new-password' ? 'password' : kind === 'many' ? 'text' : kind;
  const autocomplete = field.autocomplete ?? (kind === 'new-password' ? 'new-password' : 'off');
  // The types of the element have one shape for each of its kinds.
  return <input {...shared} type={type as 'text'} autocomplete={autocomplete} defaultValue={given} />;
}

interface ControlParts {
  readonly field: Field;
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isWrong: boolean;
}

function FieldRow({ field, error }: { readonly field: Field; readonly error: string | undefined }) {
  const id = useId();
  const { label, hint, kind, options = [], name, value } = field;
  if (kind === 'many') {
    const ticked = typeof value === 'string' ? value.split(',') : [];
    return (
      <fieldset class="field many">
        <legend>{label}</legend>
        {options.map(([each, shown]) => (
          <label key={each}>
            <input type="checkbox" name={name} value={each} defaultChecked={ticked.includes(each)} /> {shown}
          </label>
        ))}
      </fieldset>
    );
  }
  const parts = [hint && `${id}-hint`, error && `${id}-error`].filter(
    (part) => part !== undefined && part !== '',
  );
  return (
    <div class={`field ${kind ?? 'text'}`}>
      <label for={id}>{label}</label>
      <Control
        field={field}
        id={id}
        describedBy={parts.join(' ') || undefined}
        isWrong={error !== undefined}
      />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

/** The name of the field that an error is about, such as `user` of `body.user`. */
function fieldOf(error: unknown): string | undefined {
  return error instanceof VaultApiError
    ? error.field?.replace(/^(?:body|query|path)\./, '').split(/[.[]/)[0]
    : undefined;
}

/** Fields that few people need, below a line that opens them; open from the start if one of them has a value. */
function More({ fields, error }: { readonly fields: readonly Field[]; readonly error: ErrorOf }) {
  const isUsed = fields.some(({ value }) => value !== undefined && value !== '' && value !== false);
  return (
    <details class="more" open={isUsed || fields.some(({ name }) => error(name) !== undefined)}>
      <summary>{T.moreFields}</summary>
      <div>
        {fields.map((field) => (
          <FieldRow key={field.name} field={field} error={error(field.name)} />
        ))}
      </div>
    </details>
  );
}

type ErrorOf = (name: string) => string | undefined;

/** What a form is made of. */
export interface FormParts {
  readonly fields: readonly Field[];
  /** The text of its button. */
  readonly send: string;
  readonly onSend: (entered: Entered) => Promise<void> | void;
  readonly children?: ComponentChildren;
  readonly isCompact?: boolean;
  readonly kind?: 'primary' | 'danger';
}

/**
 * A form. `onSend` gets what was entered; what it throws is shown, and the form stays as it is. In a dialog its first
 * field has the focus.
 */
export function Form({ fields, send, onSend, children, isCompact = false, kind = 'primary' }: FormParts) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, error, run } = useWork(async () => {
    if (form.current !== null) {
      await onSend(enteredIn(form.current));
    }
  });
  useHold(isBusy);
  const about = fieldOf(error);
  const isBeside = fields.some(({ name }) => name === about);
  const errorOf: ErrorOf = (name) => (name === about && error !== undefined ? messageOf(error) : undefined);
  useEffect(() => {
    // One that comes later than its dialog, since it waited for its choices.
    if (form.current?.closest('dialog')) {
      focusFirst(form.current);
    }
  }, []);
  // Filters follow the place, also on the way back.
  const given = isCompact ? JSON.stringify(fields.map(({ value }) => value)) : '';
  const shown = useRef(given);
  useEffect(() => {
    if (shown.current !== given) {
      form.current?.reset();
    }
    shown.current = given;
  }, [given]);
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [error]);
  const submit = (event: Event): void => {
    event.preventDefault();
    void run();
  };
  const more = fields.filter(({ isMore }) => isMore);
  return (
    <form ref={form} class={isCompact ? 'compact' : undefined} onSubmit={submit}>
      {fields
        .filter(({ isMore }) => !isMore)
        .map((field) => (
          <FieldRow key={field.name} field={field} error={errorOf(field.name)} />
        ))}
      {children}
      {!isCompact && more.length > 0 && <More fields={more} error={errorOf} />}
      {error !== undefined && !isBeside && (
        <p class="failure" role="alert">
          {messageOf(error)}
        </p>
      )}
      <button type="submit" class={kind === 'danger' ? 'primary danger' : 'primary'} aria-disabled={isBusy}>
        {isBusy ? T.sending : send}
      </button>
      {isCompact && more.length > 0 && <More fields={more} error={errorOf} />}
    </form>
  );
}
