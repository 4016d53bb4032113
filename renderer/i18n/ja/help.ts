import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'キーボードショートカット',
  'help.keyHelp': 'このページへ',
  'help.keyTab': '次のリンク、ボタン、行へ移動',
  'help.keyRows': '表の次または前の行へ移動',
  'help.keyOpen': '行を開く',
  'help.keyClose': 'ダイアログやメニューを閉じる',
  'help.terminal': 'ターミナルで',
  'help.doctor': 'このマシン、オーケストレーターへの接続、オーケストレーターを確認します:',
  'help.api': 'スクリプト向けの API リファレンス',
  'help.diagnostics': 'バグ報告用',
  'help.diagnosticsNote': '問題の原因を調べるための情報です。ワーカーやジョブの名前、トークンは含みません。',
  'help.keyPalette': '任意のページ、ワーカー、ジョブへ',
  'help.keyGo': '概要、ワーカー、ジョブ、キュー、監査、設定、このページへ',
  'help.keyFilter': 'ページの絞り込みへ',
};
