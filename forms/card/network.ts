/** The choice between the networks of a card, hidden unless there are several. */
import { h } from '../base/dom.ts';
import { brandName } from '../fields/brand.ts';
import type { FieldPlan, FormField } from '../fields/field.ts';
import type { Texts } from '../messages/en.ts';

export interface NetworkField extends FormField {
  /** Shows these networks with the first one chosen, or nothing. */
  offer(networks: readonly string[]): void;
}

/** Creates the field; `announce` tells screen readers of the choice. */
export function createNetworkField(texts: Texts, announce: (message: string) => void): NetworkField {
  const plan: FieldPlan = { name: 'network', label: texts.network, required: '', choices: [] };
  const choices = h('div', { class: 'vf-choices' });
  const element = h(
    'fieldset',
    { class: 'vf-field', 'data-field': plan.name, role: 'radiogroup', hidden: true },
    h('legend', { class: 'vf-label' }, plan.label),
    choices,
  );
  const inputs = (): HTMLInputElement[] => [...choices.querySelectorAll('input')];
  const chosen = (): HTMLInputElement | undefined => inputs().find(({ checked }) => checked);
  const offer = (networks: readonly string[]): void => {
    const isNew = networks.length > 0 && element.hidden;
    element.hidden = networks.length === 0;
    choices.replaceChildren(
      ...networks.map((value, at) =>
        h(
          'label',
          { class: 'vf-choice' },
          h('input', { type: 'radio', name: plan.name, value, checked: at === 0 }),
          h('span', {}, brandName(value)),
        ),
      ),
    );
    if (isNew) {
      announce(`${plan.label}: ${networks.map(brandName).join(', ')}`);
    }
  };
  return {
    plan,
    element,
    offer,
    children: [],
    inputs: [],
    value: () => chosen()?.value ?? '',
    put: () => undefined,
    clear: () => offer([]),
    focus: () => chosen()?.focus(),
    check: () => true,
    leave: () => undefined,
    showError: () => undefined,
  };
}
