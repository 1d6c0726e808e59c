import type { PageConfig } from '../../server/form/schema.ts';
import { h, icon, LOCK } from '../base/dom.ts';
import type { Texts } from '../messages/en.ts';
import type { Visit } from './visit.ts';

export interface PageContext {
  readonly config: PageConfig;
  readonly visit: Visit;
  readonly texts: Texts;
}

/** The top of the page. Inside another page a heading is shown only if it was requested. */
export function createHead({ config, visit, texts }: PageContext): HTMLElement {
  const { theme, display_mode } = config.settings;
  const asked = visit.title ?? config.title;
  const usual = display_mode === 'standalone' ? texts[`head_${config.form_type}`] : undefined;
  const title = asked ?? usual;
  const titled = title === undefined ? undefined : h('h1', { class: 'vf-title' }, title);
  const badge = config.testing ? h('span', { class: 'vf-badge' }, texts.test) : undefined;
  const logo =
    theme.logo_image === undefined
      ? undefined
      : h('img', { class: 'vf-logo', src: theme.logo_image, alt: '' });
  const line = titled ?? badge;
  return h(
    'header',
    { class: 'vf-head' },
    logo,
    line === undefined ? undefined : h('div', { class: 'vf-heading' }, titled, badge),
  );
}

/** The bottom of the page, for forms that can be sent. */
export function createFoot({ texts }: PageContext): HTMLElement {
  return h('p', { class: 'vf-foot' }, icon(LOCK), texts.secure);
}
