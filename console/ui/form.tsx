import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { VaultApiError } from '../../sdk/transport/errors.ts';
import { durationOf } from '../app/duration.ts';
import { useWork } from '../app/load.ts';
import { fieldMessageOf, messageOf } from '../app/session.ts';
import { T } from '../app/text.ts';

/** The dialog that contains a form or a secret. */
export const DialogAround = createContext({
  /** Changes the number of parts that hold the dialog open. */
  hold: (_change: (holds: number) => number): void => undefined,
  close: (): void => undefined,
});

/** Holds the dialog open while `isHeld`: during a request whose reply may contain a secret, and while one is shown. */
export function useHold(isHeld: boolean): void {
  const { hold } = useContext(DialogAround);
  useLayoutEffect(() => {
    if (!isHeld) {
      return undefined;
    }
    hold((holds) => holds + 1);
    return () => hold((holds) => holds - 1);
  }, [hold, isHeld]);
}

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
    | 'many'
    | 'colour';
  readonly required?: boolean;
  readonly value?: string | boolean;
  readonly placeholder?: string;
  /** Values of a `select` or `many`, with their labels. */
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** The values of a `many` are shown beside their labels. */
  readonly hasCodes?: boolean;
  readonly autocomplete?: string;
  /** Shown in a part that is closed at first. */
  readonly isMore?: boolean;
}

/** What is wrong with a field, told without asking the API. */
export class FieldError extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** The values of a form; an empty field has none. */
export interface Entered {
  readonly text: (name: string) => string | undefined;
  readonly needed: (name: string) => string;
  /** A duration in the form of the API. */
  readonly duration: (name: string) => string | undefined;
  readonly isOn: (name: string) => boolean;
  readonly list: (name: string) => string[];
}

export function enteredIn(form: HTMLFormElement): Entered {
  const data = new FormData(form);
  const text = (name: string): string | undefined => {
    const value = data.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    text,
    needed: (name) => text(name) ?? '',
    duration: (name) => {
      const typed = text(name);
      return typed === undefined ? undefined : durationOf(typed);
    },
    isOn: (name) => data.has(name),
    list: (name) =>
      data
        .getAll(name)
        .flatMap((value) => String(value).split(/[\s,]+/))
        .filter((each) => each !== ''),
  };
}

/** Lines of the form `name=value`, as an object. */
export function pairsOf(text: string | undefined): Record<string, string> | undefined {
  const lines = (text ?? '').split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf('=');
    return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

/** An empty list is no limit. */
export function given<Item>(list: Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : list;
}

export function focusFirst(place: Element | null): void {
  place?.querySelector<HTMLElement>('input, select, textarea')?.focus();
}

/** The format in which a picker of colours has its value. */
const HEX = /^#[0-9a-f]{6}$/i;

/** A typed colour of any notation in that format; `otherwise` for a text that is none. */
function hexOf(text: string, otherwise: string): string {
  const context = document.createElement('canvas').getContext('2d');
  if (context === null) {
    return otherwise;
  }
  context.fillStyle = otherwise;
  context.fillStyle = text;
  return HEX.test(context.fillStyle) ? context.fillStyle : otherwise;
}

/** A colour as a text and as a picker, which shows the default of an empty text. */
function ColourControl({ field: { label, value, placeholder = '#000000' }, input }: ColourProps) {
  const text = useRef<HTMLInputElement>(null);
  const [shown, setShown] = useState(typeof value === 'string' ? value : '');
  const change = (colour: string): void => {
    if (text.current !== null) {
      text.current.value = colour;
    }
    setShown(colour);
  };
  return (
    <span class="line colour">
      <input
        {...input}
        ref={text}
        type="text"
        defaultValue={typeof value === 'string' ? value : undefined}
        onInput={({ currentTarget }) => setShown(currentTarget.value)}
      />
      <input
        type="color"
        aria-label={`${T.pick}: ${label}`}
        value={hexOf(shown, placeholder)}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <button
        type="button"
        class="small"
        aria-label={`${T.unset}: ${label}`}
        aria-disabled={shown === ''}
        onClick={() => {
          change('');
          text.current?.dispatchEvent(new Event('change', { bubbles: true }));
        }}
      >
        {T.unset}
      </button>
    </span>
  );
}

interface ColourProps {
  readonly field: Field;
  readonly input: ReturnType<typeof sharedOf>;
}

interface ControlProps {
  readonly field: Field;
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isWrong: boolean;
}

/** The attributes that controls of all kinds have. */
function sharedOf({
  field: { name, required = false, placeholder },
  id,
  describedBy,
  isWrong,
}: ControlProps) {
  return {
    ...{ id, name, required, placeholder, 'aria-describedby': describedBy, 'aria-invalid': isWrong },
    ...({ autocomplete: 'off', autocapitalize: 'off', spellcheck: false } as const),
  };
}

function Control(props: ControlProps) {
  const { field } = props;
  const { kind = 'text', value, options = [] } = field;
  const shared = sharedOf(props);
  const given = typeof value === 'string' ? value : undefined;
  if (kind === 'textarea') {
    return <textarea {...shared} rows={4} defaultValue={given} />;
  }
  if (kind === 'select') {
    return (
      <select {...shared}>
        {options.map(([each, label]) => (
          // The types lack the attribute that a reset restores.
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
  if (kind === 'colour') {
    return <ColourControl field={field} input={shared} />;
  }
  if (kind === 'passphrase') {
    // Browsers fill in a password field with the sign-in, and offer to save a passphrase in its place.
    return <input {...shared} type="text" class="masked" />;
  }
  const type = kind === 'new-password' ? 'password' : kind === 'many' ? 'text' : kind;
  const autocomplete = field.autocomplete ?? (kind === 'new-password' ? 'new-password' : 'off');
  // The element's types have one shape for each kind.
  return <input {...shared} type={type as 'text'} autocomplete={autocomplete} defaultValue={given} />;
}

function FieldRow({ field, error }: { field: Field; error: string | undefined }) {
  const id = useId();
  const { label, hint, kind, options = [], hasCodes, name, value } = field;
  const isWrong = error !== undefined;
  const parts = [hint && `${id}-hint`, error && `${id}-error`].filter(
    (part) => part !== undefined && part !== '',
  );
  const describedBy = parts.join(' ') || undefined;
  const notes = (
    <>
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
    </>
  );
  if (kind === 'many') {
    const ticked = typeof value === 'string' ? value.split(',') : [];
    return (
      <fieldset class={hasCodes ? 'field many coded' : 'field many'} aria-describedby={describedBy}>
        <legend>{label}</legend>
        {notes}
        {options.map(([each, shown]) => (
          <label key={each}>
            <input
              type="checkbox"
              name={name}
              value={each}
              defaultChecked={ticked.includes(each)}
              aria-invalid={isWrong}
            />{' '}
            {shown} {hasCodes && <code class="soft">{each}</code>}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <div class={`field ${kind ?? 'text'}`}>
      <label for={id}>{label}</label>
      <Control field={field} id={id} describedBy={describedBy} isWrong={isWrong} />
      {notes}
    </div>
  );
}

/** The name of the invalid field, such as `user` of `body.user`. */
function fieldOf(error: unknown): string | undefined {
  if (error instanceof FieldError) {
    return error.field;
  }
  return error instanceof VaultApiError
    ? error.field?.replace(/^(?:body|query|path)\./, '').split(/[.[]/)[0]
    : undefined;
}

/** Fields that few people need; open from the start if one of them has a value. */
function More({ fields, error }: { fields: readonly Field[]; error: ErrorOf }) {
  const isUsed = fields.some(({ value }) => value !== undefined && value !== '' && value !== false);
  return (
    <details class="more" open={isUsed || fields.some((field) => error(field) !== undefined)}>
      <summary>{T.moreFields}</summary>
      <div>
        {fields.map((field) => (
          <FieldRow key={field.name} field={field} error={error(field)} />
        ))}
      </div>
    </details>
  );
}

type ErrorOf = (field: Field) => string | undefined;

export interface FormProps {
  readonly fields: readonly Field[];
  /** The text of the button. */
  readonly send: string;
  readonly onSend: (entered: Entered) => Promise<void> | void;
  readonly children?: ComponentChildren;
  readonly isCompact?: boolean;
  readonly kind?: 'primary' | 'danger';
}

/** A form. It shows an error of `onSend`, at its field if it has one. In a dialog the first field gets the focus. */
export function Form({ fields, send, onSend, children, isCompact = false, kind = 'primary' }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, error, run } = useWork(async () => {
    if (form.current !== null) {
      await onSend(enteredIn(form.current));
    }
  });
  useHold(isBusy);
  const about = fieldOf(error);
  const errorOf: ErrorOf = ({ name, label }) =>
    name === about && error !== undefined ? fieldMessageOf(error, label) : undefined;
  useEffect(() => {
    // A form that waits for its choices is rendered later than its dialog.
    if (form.current?.closest('dialog')) {
      focusFirst(form.current);
    }
  }, []);
  // Filters follow the address, also after a step back in the history.
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
          <FieldRow key={field.name} field={field} error={errorOf(field)} />
        ))}
      {children}
      {!isCompact && more.length > 0 && <More fields={more} error={errorOf} />}
      {error !== undefined && !fields.some(({ name }) => name === about) && (
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
