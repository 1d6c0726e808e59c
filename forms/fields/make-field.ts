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

/**
 * Creates a field; `changed` is called after every change of its value. `announce` tells screen readers of an error
 * when the focus is elsewhere; at the field itself they read its description.
 */
export function createField(
  plan: FieldPlan,
  changed: () => void,
  announce: (message: string) => void,
): FormField {
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
  // True for a value that was not checked yet.
  let isNew = false;
  // An error is shown until it is corrected. A new one is not shown before the focus leaves the field.
  element.addEventListener('input', () => {
    isNew = true;
    if (said !== undefined && problem() !== said) {
      complain(undefined);
      announce('');
    }
  });
  const check = (): boolean => {
    isNew = false;
    const message = problem();
    complain(message);
    return message === undefined;
  };
  return {
    ...part,
    plan,
    element,
    showError: complain,
    check,
    leave: () => {
      const isUnheard = isNew;
      if (part.value() !== '' && !check() && isUnheard) {
        announce(`${plan.label}: ${said}`);
      }
    },
  };
}
