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

/** What axe finds in the page as it is, one line for each element. */
export async function axeFaults(page: Page): Promise<string[]> {
  // Reading its half a megabyte takes longer than all that it does afterwards.
  if (!(await page.evaluate(() => window.axe !== undefined))) {
    await page.evaluate(axe.source);
  }
  // It cannot look into frames of another origin, and what it says to them is refused by the browser, loudly.
  const violations = await page.evaluate(
    async () => (await window.axe?.run({ resultTypes: ['violations'], iframes: false }))?.violations,
  );
  if (violations === undefined) {
    throw new Error('axe is not there');
  }
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
