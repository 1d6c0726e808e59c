// In JavaScript with our own declarations: those of highlight.js include the DOM types, which would replace the types
// of the runtime in the whole project.
import highlighter from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';

// The HTML grammar looks up the language of scripts as `javascript`.
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
