import type { PageConfig } from '../../server/form/schema.ts';
import type { FieldPlan, FormField } from '../fields/field.ts';
import { createField } from '../fields/make-field.ts';
import type { Problem } from '../fields/validate.ts';
import type { Texts } from '../messages/en.ts';
import { fillText } from '../messages/messages.ts';
import type { CardPart } from './faces.ts';

export interface FormPartContext {
  readonly config: PageConfig;
  readonly texts: Texts;
  readonly now: () => Date;
  /** Announces a text to screen readers. */
  readonly announce: (message: string) => void;
  /** Asks for the networks of a card; the returned function receives the digits of its number while it is entered. */
  readonly lookUp: (offer: (networks: readonly string[]) => void) => (digits: string) => void;
}

/** The fields of a form in order, and the object that they are posted as; empty members are removed later. */
export interface FormPart {
  readonly fields: readonly FormField[];
  /** The sample card. */
  readonly art?: { readonly element: HTMLElement; focus(part: CardPart | undefined): void };
  posted(): Readonly<Record<string, string>>;
}

/** The definition of a field by its type of form; the rest follows from its name and the settings. */
export interface FieldSketch extends Omit<FieldPlan, 'label' | 'required' | 'problem'> {
  /** Also the name of its label among the texts. */
  readonly name: FieldName;
  readonly problem?: (value: string) => Problem | undefined;
  /** Values for the placeholders in the error text. */
  readonly values?: () => Readonly<Record<string, string | number>>;
}

/** The names of the fields of all types of forms. */
export type FieldName =
  | 'card_number'
  | 'card_holder'
  | 'expiry'
  | 'cvv'
  | 'account_number'
  | 'routing_number'
  | 'account_type'
  | 'account_holder';

/** True if the settings show the field. */
export function isVisible({ config }: FormPartContext, name: string): boolean {
  return config.settings.field_options[name]?.visible !== false;
}

/** True if the settings require the field to be valid. */
export function isChecked({ config }: FormPartContext, name: string): boolean {
  return !config.settings.disable_luhn && config.settings.field_options[name]?.validate !== false;
}

/** Creates the visible fields. */
export function createFields(
  context: FormPartContext,
  sketches: readonly FieldSketch[],
  changed: () => void,
): FormField[] {
  return sketches
    .filter(({ name }) => isVisible(context, name))
    .map((sketch) => {
      const { texts } = context;
      // The text of the error in the language of the form.
      const problem = (value: string): string | undefined => {
        const found = sketch.problem?.(value);
        return found === undefined ? undefined : fillText(texts[found], sketch.values?.() ?? {});
      };
      const plan: FieldPlan = {
        ...sketch,
        label: texts[sketch.name],
        required: texts[`need_${sketch.name}`],
        problem: isChecked(context, sketch.name) ? problem : undefined,
      };
      return createField(plan, changed, context.announce);
    });
}
