import type { ColumnKey } from '../en/columns.ts';

export const columns: Readonly<Record<ColumnKey, string>> = {
  'columns.open': 'कॉलम',
  'columns.title': 'कॉन्फ़िग के मान कॉलम में',
  'columns.explain': 'सूची के जॉब की कॉन्फ़िग इन कुंजियों में अलग हैं। यह ब्राउज़र अधिकतम {max, number} याद रखता है।',
  'columns.search': 'कुंजियाँ खोजें',
  'columns.none': 'सूची के जॉब की कॉन्फ़िग एक जैसी हैं।',
  'columns.chosen': '{max, number} में से {count, number} चुने गए',
};
