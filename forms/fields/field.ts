/** What a field of a form is: its plan, its part in the page, and what it can be told. */

import { type Attributes, h } from '../base/dom.ts';
import type { Edit } from './digits.ts';

/** What a field is like. `problem` returns a sentence; it is asked only when something was typed. */
export interface FieldPlan {
  readonly name: string;
  readonly label: string;
  /** The word beside the label of a field that may stay empty; such a field is not required. */
  readonly optional?: string;
  readonly attributes?: Attributes;
  /** Takes half of a row. */
  readonly half?: boolean;
  /** Holds digits: written from left to right in every language, and with the keypad where it is forced. */
  readonly digits?: boolean;
  readonly edit?: Edit;
  readonly paste?: (text: string) => string | undefined;
  readonly adornment?: Element;
  /** Undefined: nothing is checked, not even that something was typed. */
  readonly problem?: ((value: string) => string | undefined) | undefined;
  readonly required: string;
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
}

/** The part of a field that is filled in. */
export interface Part {
  readonly children: readonly Element[];
  /** The inputs, in their order: one, or one for each choice. */
  readonly inputs: readonly HTMLInputElement[];
  value(): string;
  /** Puts in a text as if it had been typed; `kind` is an `inputType`. */
  put(text: string, kind: string): void;
  clear(): void;
  focus(): void;
}

/** A field as the form uses it. */
export interface Field extends Part {
  readonly plan: FieldPlan;
  readonly element: HTMLElement;
  /** Checks it, shows what is wrong, and says whether nothing is. */
  check(): boolean;
  /** Shows a sentence beside the field, or none. */
  complain(sentence: string | undefined): void;
}

/** Whether something must be filled in. */
export function isRequired({ optional, problem }: FieldPlan): boolean {
  return optional === undefined && problem !== undefined;
}

/** The id of the element that says what is wrong with a field. */
export function errorId({ name }: FieldPlan): string {
  return `vf-${name}-error`;
}

/** The inside of a field's label. */
export function labelOf({ label, optional }: FieldPlan): (Node | string)[] {
  return optional === undefined
    ? [label]
    : [label, ' ', h('span', { class: 'vf-optional' }, `(${optional})`)];
}
