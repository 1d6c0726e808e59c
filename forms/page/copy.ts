/** Copies a text to the clipboard, also in a sandboxed frame, where the Clipboard API is often forbidden. */

/** Copies a text; resolves with whether that succeeded. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * Copies through a selection. The text is in the page only until the browser has copied it, and never in an
 * attribute.
 */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  // The focus is restored afterwards.
  const focused = document.activeElement;
  area.value = text;
  area.readOnly = true;
  area.className = 'vf-hidden';
  area.ariaHidden = 'true';
  document.body.append(area);
  area.select();
  try {
    return document.execCommand('copy');
  } finally {
    area.value = '';
    area.remove();
    if (focused instanceof HTMLElement) {
      focused.focus();
    }
  }
}
