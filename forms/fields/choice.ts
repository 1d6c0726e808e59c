/** A field with a few choices, shown side by side. */
import { h } from '../base/dom.ts';
import { type FieldPlan, labelOf, type Part } from './field.ts';

/** Creates the choices; none is selected at first. */
export function createChoice(plan: FieldPlan, changed: () => void): Part {
  const choices = plan.choices ?? [];
  const inputs = choices.map(({ value }) =>
    h('input', { type: 'radio', id: `vf-${plan.name}-${value}`, name: plan.name, value }),
  );
  const options = choices.map(({ label }, at) =>
    h('label', { class: 'vf-choice' }, inputs[at], h('span', {}, label)),
  );
  const box = h('div', { class: 'vf-choices' }, ...options);
  box.addEventListener('change', changed);
  // An unknown value deselects all choices.
  const choose = (value: string): void => {
    for (const input of inputs) {
      input.checked = input.value === value;
    }
    changed();
  };
  return {
    children: [h('legend', { class: 'vf-label' }, ...labelOf(plan)), box],
    inputs,
    value: () => inputs.find(({ checked }) => checked)?.value ?? '',
    put: choose,
    clear: () => choose(''),
    focus: () => (inputs.find(({ checked }) => checked) ?? inputs[0])?.focus(),
  };
}
