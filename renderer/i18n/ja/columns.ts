import type { ColumnKey } from '../en/columns.ts';

export const columns: Readonly<Record<ColumnKey, string>> = {
  'columns.open': '列',
  'columns.title': '設定値を列に表示',
  'columns.explain':
    '一覧のジョブの設定で異なるキーです。このブラウザーは最大 {max, number} 個を記憶します。',
  'columns.search': 'キーを検索',
  'columns.none': '一覧のジョブの設定に違いはありません。',
  'columns.chosen': '{max, number} 個中 {count, number} 個を選択',
};
