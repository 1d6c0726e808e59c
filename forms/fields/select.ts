/** Fields without typed text: a list, a box to tick, and choices side by side. */
import { DOWN, h, icon } from '../base/dom.ts';
import { errorId, type FieldPlan, isRequired, labelOf, type Part } from './field.ts';

function attributesOf(plan: FieldPlan): Record<string, string> {
  return {
    id: `vf-${plan.name}`,
    name: plan.name,
    autocomplete: 'off',
    'aria-required': isRequired(plan) ? 'true' : 'false',
    'aria-invalid': 'false',
    'aria-describedby': errorId(plan),
  };
}

/** Creates a list; nothing is chosen at first. */
export function createSelect(plan: FieldPlan, changed: () => void): Part {
  const options = (plan.list ?? []).map(({ value, label }) => h('option', { value }, label));
  const attributes = { class: 'vf-input', ...attributesOf(plan), ...plan.attributes };
  const select = h('select', attributes, h('option', { value: '' }), ...options);
  select.addEventListener('change', changed);
  const put = (value: string): void => {
    select.value = value;
    changed();
  };
  return {
    children: [
      h(
        'div',
        { class: 'vf-box' },
        select,
        h('label', { class: 'vf-label', for: select.id }, ...labelOf(plan)),
        h('span', { class: 'vf-adornment' }, icon(DOWN)),
      ),
    ],
    inputs: [],
    list: select,
    value: () => select.value,
    put,
    clear: () => put(''),
    focus: () => select.focus(),
  };
}

/** Creates a box; it is not ticked at first. */
export function createBox(plan: FieldPlan, changed: () => void): Part {
  const box = h('input', { type: 'checkbox', ...attributesOf(plan) });
  box.addEventListener('change', changed);
  const put = (value: string): void => {
    box.checked = value !== '';
    changed();
  };
  return {
    children: [h('label', { class: 'vf-choice' }, box, h('span', {}, ...labelOf(plan)))],
    inputs: [box],
    value: () => (box.checked ? 'true' : ''),
    put,
    clear: () => put(''),
    focus: () => box.focus(),
  };
}

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
