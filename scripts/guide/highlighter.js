// In JavaScript, with types of our own beside it: those of highlight.js bring the types of browsers along, which would
// take the place of the runtime's in all of the server.
import highlighter from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';

// Scripts in HTML are looked up as JavaScript.
for (const [name, grammar] of Object.entries({
  bash,
  json,
  python,
  typescript,
  xml,
  javascript: typescript,
})) {
  highlighter.registerLanguage(name, grammar);
}

export const highlight = (code, language) =>
  highlighter.highlight(code, { language, ignoreIllegals: true }).value;
