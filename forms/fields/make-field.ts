/** Creates fields: an input or choices, with the element that shows the error. */

import { ALERT, h, icon } from '../base/dom.ts';
import { errorId, type FieldPlan, type FormField, isRequired, type Part } from './field.ts';
import { createBox, createChoice, createSelect } from './select.ts';
import { createText } from './text-input.ts';

/** The outer element of a field. */
function frameOf(plan: FieldPlan): HTMLElement {
  const attributes = { class: plan.half === true ? 'vf-field vf-half' : 'vf-field', 'data-field': plan.name };
  return plan.choices === undefined
    ? h('div', attributes)
    : h('fieldset', {
        ...attributes,
        role: 'radiogroup',
        'aria-describedby': errorId(plan),
        'aria-required': isRequired(plan) ? 'true' : 'false',
      });
}

function partOf(plan: FieldPlan, changed: () => void): Part {
  const create =
    plan.choices !== undefined
      ? createChoice
      : plan.list !== undefined
        ? createSelect
        : plan.isBox === true
          ? createBox
          : createText;
  return create(plan, changed);
}

/** Creates a field; `changed` is called after every change of its value. */
export function createField(plan: FieldPlan, changed: () => void): FormField {
  const part = partOf(plan, changed);
  const error = h('p', { class: 'vf-error', id: errorId(plan), hidden: true });
  const element = frameOf(plan);
  element.append(...part.children, error);
  // The element with the ARIA attributes: the input, or the group of choices.
  const marked = plan.choices === undefined ? (part.list ?? part.inputs[0]) : element;
  // The error that is shown.
  let said: string | undefined;
  const complain = (message: string | undefined): void => {
    said = message;
    error.hidden = message === undefined;
    error.replaceChildren(...(message === undefined ? [] : [icon(ALERT), message]));
    element.classList.toggle('vf-invalid', message !== undefined);
    marked?.setAttribute('aria-invalid', String(message !== undefined));
  };
  const problem = (): string | undefined => {
    const value = part.value();
    if (value === '') {
      return isRequired(plan) ? plan.required : undefined;
    }
    return plan.problem?.(value);
  };
  // An error is shown until it is corrected. A new one is not shown before the focus leaves the field.
  element.addEventListener('input', () => {
    if (said !== undefined && problem() !== said) {
      complain(undefined);
    }
  });
  return {
    ...part,
    plan,
    element,
    showError: complain,
    check: () => {
      const message = problem();
      complain(message);
      return message === undefined;
    },
  };
}
