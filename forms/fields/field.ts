import { type Attributes, h } from '../base/dom.ts';
import type { Edit } from './digits.ts';

/** The definition of a field. `problem` returns an error text; it is called only for values that are not empty. */
export interface FieldPlan {
  /** The name of the member that is posted. */
  readonly name: string;
  readonly label: string;
  /** The text next to the label of an optional field. */
  readonly optional?: string;
  readonly attributes?: Attributes;
  /** Uses half of a row. */
  readonly half?: boolean;
  /** Contains digits: written from left to right in every language, and with the keypad if the settings force it. */
  readonly digits?: boolean;
  /** Formats the text after each change. */
  readonly edit?: Edit;
  /** Finds the value in a pasted text; undefined: the text is inserted as it is. */
  readonly paste?: (text: string) => string | undefined;
  readonly adornment?: Element;
  /** Undefined: the value is not checked, and may be empty. */
  readonly problem?: ((value: string) => string | undefined) | undefined;
  /** The error text for an empty field. */
  readonly required: string;
  /** A list to choose from. */
  readonly list?: readonly { readonly value: string; readonly label: string }[];
  /** A box to tick; its value is `true` or empty. */
  readonly isBox?: boolean;
  /** A field with choices instead of a text. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
}

/** The input of a field. */
export interface Part {
  readonly children: readonly Element[];
  /** The inputs in order: one, or one for each choice. */
  readonly inputs: readonly HTMLInputElement[];
  /** The element that has the focus instead of an input. */
  readonly list?: HTMLElement;
  value(): string;
  /** Sets a text as if it was typed; `kind` is an `inputType`. */
  put(text: string, kind: string): void;
  clear(): void;
  focus(): void;
}

/** A field as the form uses it. */
export interface FormField extends Part {
  readonly plan: FieldPlan;
  readonly element: HTMLElement;
  /** Checks the value, shows the error, and returns whether there is none. */
  check(): boolean;
  /** Checks a value when the focus has left the field, and announces the error of a new one. */
  leave(): void;
  /** Shows a message at the field, or none. */
  showError(message: string | undefined): void;
}

/** True for a field that must not be empty. */
export function isRequired({ optional, problem }: FieldPlan): boolean {
  return optional === undefined && problem !== undefined;
}

/** The id of the element that shows the error of a field. */
export function errorId({ name }: FieldPlan): string {
  return `vf-${name}-error`;
}

/** The content of a field's label. */
export function labelOf({ label, optional }: FieldPlan): (Node | string)[] {
  return optional === undefined
    ? [label]
    : [label, ' ', h('span', { class: 'vf-optional' }, `(${optional})`)];
}
