/** What axe finds wrong with a page. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly impact?: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

declare const window: {
  axe?: { run(options: object): Promise<{ readonly violations: readonly Violation[] }> };
};

/**
 * The rules that are run. The contrast of colours is half of the work, and the only rule that depends on colours; it
 * does not depend on the width of the window.
 */
export type Rules = 'all' | 'contrast' | 'all but contrast';

const CONTRAST = 'color-contrast';
const RULES: Readonly<Record<Rules, object>> = {
  all: {},
  contrast: { runOnly: [CONTRAST] },
  'all but contrast': { rules: { [CONTRAST]: { enabled: false } } },
};

/** What axe finds in the page as it is, one line for each element. */
export async function axeFaults(page: Page, rules: Rules = 'all'): Promise<string[]> {
  // Reading its half a megabyte takes longer than all that it does afterwards.
  if (!(await page.evaluate(() => window.axe !== undefined))) {
    await page.evaluate(axe.source);
  }
  // It cannot look into frames of another origin, and what it says to them is refused by the browser, loudly.
  const violations = await page.evaluate(
    async (more) =>
      (await window.axe?.run({ resultTypes: ['violations'], iframes: false, ...more }))?.violations,
    RULES[rules],
  );
  if (violations === undefined) {
    throw new Error('axe is not there');
  }
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
