import { createPageTexts } from '../../../app/page-texts.tsx';
import { inputs, type InputsKey } from '../../../i18n/en/inputs.ts';

export const { Texts: InputTexts, useTexts: useInputT } = createPageTexts<InputsKey>(inputs, {
  es: async () => (await import('../../../i18n/es/inputs.ts')).inputs,
  zh: async () => (await import('../../../i18n/zh/inputs.ts')).inputs,
  hi: async () => (await import('../../../i18n/hi/inputs.ts')).inputs,
  ja: async () => (await import('../../../i18n/ja/inputs.ts')).inputs,
  pseudo: async () => (await import('../../../i18n/pseudo.ts')).pseudoOf(inputs),
});
