/* The grammar. Actions build the tree and nothing else: kids at the places that compiler/language/language.h documents.
 *
 * A line end reaches this grammar only where a statement can end (compiler/language/parse.c). Every list of statements
 * is x (sep x)…, where x may be empty, so that blank lines and a last separator cost nothing. */
%define api.pure full
%define api.value.type {TokenValue}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%parse-param { Parser *p }
%lex-param   { Parser *p }

%code requires {
#include "language/parser_private.h"
}
%code provides {
int yylex(TokenValue *value, Span *span, Parser *p);
}
%code {
/* The deepest file within the limit on brackets takes about fourteen symbols a bracket. */
#define YYMAXDEPTH 50000
#define YYLLOC_DEFAULT(span, right, n) \
        ((span) = (n) ? span_join(YYRHSLOC(right, 1), YYRHSLOC(right, n)) \
                      : (Span){YYRHSLOC(right, 0).source, YYRHSLOC(right, 0).end, YYRHSLOC(right, 0).end})

static void yyerror(const Span *span, Parser *p, const char *message);

/* Both lists are always there. */
static Ast *params_node(Parser *p, Span span, Ast *by_position, Ast *by_name)
{
        if (!by_position) by_position = node(p, AST_PARAM_LIST, span, NO_KIDS);
        if (!by_name) by_name = node(p, AST_PARAM_LIST, span, NO_KIDS);
        return node(p, AST_PARAMS, span, KIDS(by_position, by_name));
}
}

%token FILE_START "file" LINES_START "lines"
%token NL "end of line"
%token <name> NAME "name" STRING "string"
%token <ast> NUMBER "number"
%token BLOCK "block" SCHEME "scheme" MODEL "model" CHECKPOINT "checkpoint" CONFIG "config"
%token IMPORT "import" TEST "test"
%token INPUT "input" OUTPUT "output" REPEAT "repeat" OVER "over" ALONG "along" SHARED "shared" LOOP "loop"
%token REQUIRE "require" WITHIN "within" RETURN "return" AS "as" IF "if" THEN "then" ELSE "else"
%token AND "and" OR "or" NOT "not" TRUE "true" FALSE "false" NONE "none"
%token EQ "==" NE "!=" LE "<=" GE ">=" FLOORDIV "//" RANGE ".."
%token END 0 "end of file"

%type <ast> items item definition block lines line title string name
%type <ast> config sources source config_statements config_statement config_if keys key path
%type <ast> config_settings config_setting settings_if
%type <ast> params no_params param_list param default type members member entries entry entry_if
%type <ast> body statements statement block_statement fields field each if_statement declaration names
%type <ast> model_statements model_statement knobs knob settings setting expressions
%type <ast> expr or_expr and_expr not_expr comparison sum product unary power postfix primary
%type <ast> elements element_list element args arg_list arg index index_list index_part
%%
start   : FILE_START items                      { p->root = spanning($2, @$); }
        | LINES_START lines                     { p->root = spanning($2, @$); }
        ;
sep     : NL                                    { yyerrok; }
        | ';'                                   { yyerrok; }
        ;
name    : NAME                                  { $$ = name_tree(node(p, AST_NAME, @$, NO_KIDS), $1, @1); }
        ;
string  : STRING                                { $$ = name_tree(node(p, AST_STRING, @$, NO_KIDS), $1, @1); }
        ;
/* --- a file --------------------------------------------------------------------------------- */
items   : item                                  { $$ = append_kid(p, node(p, AST_FILE, @$, NO_KIDS), $1, @$); }
        | items sep item                        { $$ = append_kid(p, $1, $3, @$); }
        ;
item    : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | title
        | definition
        | block
        ;
title   : IMPORT NAME                           { $$ = name_tree(node(p, AST_IMPORT, @$, KIDS(NULL)), $2, @2); }
        | IMPORT string                         { $$ = node(p, AST_IMPORT, @$, KIDS($2)); }
        ;
definition
        : TEST STRING body                      { $$ = name_tree(node(p, AST_TEST, @$, KIDS($3)), $2, @2); }
        | SCHEME NAME no_params '{' members '}'
                                                { $$ = name_tree(node(p, AST_SCHEME, @$, KIDS($3, $5)), $2, @2); }
        | SCHEME NAME '(' params ')' '{' members '}'
                                                { $$ = name_tree(node(p, AST_SCHEME, @$, KIDS($4, $7)), $2, @2); }
        | MODEL NAME '{' model_statements '}'
                                { $$ = name_tree(node(p, AST_MODEL, @$, KIDS(NULL, $4)), $2, @2); }
        | MODEL NAME ':' name '{' model_statements '}'
                                                { $$ = name_tree(node(p, AST_MODEL, @$, KIDS($4, $6)), $2, @2); }
        | CHECKPOINT NAME '{' entries '}'
                                { $$ = name_tree(node(p, AST_CHECKPOINT, @$, KIDS(NULL, $4)), $2, @2); }
        | CHECKPOINT NAME ':' name '{' entries '}'
                                                { $$ = name_tree(node(p, AST_CHECKPOINT, @$, KIDS($4, $6)), $2, @2); }
        | config
        ;
block   : BLOCK NAME '(' params ')' body
                                { $$ = name_tree(node(p, AST_BLOCK, @$, KIDS($4, $6, NULL)), $2, @2); }
        | BLOCK NAME '(' params ')' '=' expr
                                { $$ = name_tree(node(p, AST_BLOCK, @$, KIDS($4, NULL, $7)), $2, @2); }
        ;
/* a REPL's input: whatever a file or a body holds, and expressions */
lines   : line                                  { $$ = append_kid(p, node(p, AST_LINES, @$, NO_KIDS), $1, @$); }
        | lines sep line                        { $$ = append_kid(p, $1, $3, @$); }
        ;
line    : statement
        | expr
        | title
        | definition
        ;
/* --- parameters: by position ; by name only ------------------------------------------------ */
params  : %empty                                { $$ = params_node(p, @$, NULL, NULL); }
        | param_list comma                      { $$ = params_node(p, @$, $1, NULL); }
        | ';' param_list comma                  { $$ = params_node(p, @$, NULL, $2); }
        | param_list comma ';' param_list comma { $$ = params_node(p, @$, $1, $4); }
        ;
no_params
        : %empty                                { $$ = params_node(p, @$, NULL, NULL); }
        ;
comma   : %empty | ',' ;
param_list
        : param
                                { $$ = append_kid(p, node(p, AST_PARAM_LIST, @$, NO_KIDS), $1, @$); }
        | param_list ',' param                  { $$ = append_kid(p, $1, $3, @$); }
        ;
param   : NAME
                                { $$ = name_tree(node(p, AST_PARAM, @$, KIDS(NULL, NULL)), $1, @1); }
        | NAME '=' expr
                                { $$ = name_tree(node(p, AST_PARAM, @$, KIDS(NULL, $3)), $1, @1); }
        | NAME ':' type default                 { $$ = name_tree(node(p, AST_PARAM, @$, KIDS($3, $4)), $1, @1); }
        ;
default : %empty                                { $$ = NULL; }
        | '=' expr                              { $$ = $2; }
        ;
type    : postfix
        | BLOCK                                 { $$ = name_tree(node(p, AST_TYPE, @$, NO_KIDS), "block", @1); }
        | SCHEME                                { $$ = name_tree(node(p, AST_TYPE, @$, NO_KIDS), "scheme", @1); }
        ;
members : member                                { $$ = append_kid(p, node(p, AST_MEMBERS, @$, NO_KIDS), $1, @$); }
        | members sep member                    { $$ = append_kid(p, $1, $3, @$); }
        ;
member  : statement
        | NAME '(' params ')' body
                                { $$ = name_tree(node(p, AST_MEMBER, @$, KIDS($3, $5, NULL)), $1, @1); }
        | NAME '(' params ')' '=' expr
                                { $$ = name_tree(node(p, AST_MEMBER, @$, KIDS($3, NULL, $6)), $1, @1); }
        ;
/* --- checkpoint: a published name = data movement over our weights ------------------------- */
entries : entry                                 { $$ = append_kid(p, node(p, AST_ENTRIES, @$, NO_KIDS), $1, @$); }
        | entries sep entry                     { $$ = append_kid(p, $1, $3, @$); }
        ;
entry   : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | STRING '=' expr                       { $$ = name_tree(node(p, AST_MAP, @$, KIDS($3)), $1, @1); }
        | NAME string                           { $$ = name_tree(node(p, AST_RULE, @$, KIDS($2)), $1, @1); }
        | NAME string '=' expr
                { $$ = name_tree(node(p, AST_MAP, @$, KIDS($4, name_tree(node(p, AST_RULE, @1, KIDS($2)), $1, @1))), $2->name, @2); }
        | entry_if
        ;
entry_if: IF expr '{' entries '}'               { $$ = node(p, AST_ENTRY_IF, @$, KIDS($2, $4, NULL)); }
        | IF expr '{' entries '}' ELSE '{' entries '}'
                                                { $$ = node(p, AST_ENTRY_IF, @$, KIDS($2, $4, $8)); }
        | IF expr '{' entries '}' ELSE entry_if { $$ = node(p, AST_ENTRY_IF, @$, KIDS($2, $4, $7)); }
        ;
/* --- a published configuration and the model that it states ---------------------------------- */
config  : CONFIG NAME sources '{' config_statements '}'
                                { $$ = name_tree(node(p, AST_CONFIG, @$, KIDS(NULL, $5, $3)), $2, @2); }
        | CONFIG NAME ':' name sources '{' config_statements '}'
                                { $$ = name_tree(node(p, AST_CONFIG, @$, KIDS($4, $7, $5)), $2, @2); }
        ;
sources : %empty                                { $$ = node(p, AST_SOURCES, @$, NO_KIDS); }
        | sources source                        { $$ = append_kid(p, $1, $2, @$); }
        ;
source  : STRING                                { $$ = name_tree(node(p, AST_ARCHITECTURE, @$, NO_KIDS), $1, @1); }
        | source '.' name                       { $$ = append_kid(p, $1, $3, @$); }
        ;
config_statements
        : config_statement                      { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | config_statements sep config_statement
                                                { $$ = append_kid(p, $1, $3, @$); }
        ;
config_statement
        : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | NAME keys                             { $$ = name_tree(spanning($2, @$), $1, @1); }
        | names '=' expr                        { $$ = node(p, AST_LET, @$, KIDS($1, $3)); }
        | REQUIRE expr                          { $$ = node(p, AST_REQUIRE, @$, KIDS($2, NULL, NULL)); }
        | REQUIRE expr ',' string               { $$ = node(p, AST_REQUIRE, @$, KIDS($2, NULL, $4)); }
        | MODEL '{' config_settings '}'         { $$ = node(p, AST_STATED, @$, KIDS(NULL, $3)); }
        | MODEL name '{' config_settings '}'    { $$ = node(p, AST_STATED, @$, KIDS($2, $4)); }
        | block
        | config_if
        ;
config_if
        : IF expr '{' config_statements '}'     { $$ = node(p, AST_IF, @$, KIDS($2, $4, NULL)); }
        | IF expr '{' config_statements '}' ELSE '{' config_statements '}'
                                                { $$ = node(p, AST_IF, @$, KIDS($2, $4, $8)); }
        | IF expr '{' config_statements '}' ELSE config_if
                                                { $$ = node(p, AST_IF, @$, KIDS($2, $4, $7)); }
        ;
keys    : key                                   { $$ = append_kid(p, node(p, AST_KEYS, @$, NO_KIDS), $1, @$); }
        | keys ',' key                          { $$ = append_kid(p, $1, $3, @$); }
        ;
key     : path                                  { $$ = name_tree(node(p, AST_KEY, @$, KIDS(NULL, NULL, NULL)), $1->name, @1); }
        | path '=' expr                         { $$ = name_tree(node(p, AST_KEY, @$, KIDS(NULL, NULL, $3)), $1->name, @1); }
        | path ':' name                         { $$ = name_tree(node(p, AST_KEY, @$, KIDS(NULL, $3, NULL)), $1->name, @1); }
        | path AS name '=' expr                 { $$ = name_tree(node(p, AST_KEY, @$, KIDS($3, NULL, $5)), $1->name, @1); }
        | path AS name ':' name                 { $$ = name_tree(node(p, AST_KEY, @$, KIDS($3, $5, NULL)), $1->name, @1); }
        ;
path    : name
        | string
        | path '.' NAME                         { $$ = name_tree(spanning($1, @$), dotted(p, $1->name, $3), @$); }
        ;
config_settings
        : config_setting                        { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | settings
        | config_settings sep config_setting    { $$ = append_kid(p, $1, $3, @$); }
        | config_settings sep settings          { $$ = append_all(p, $1, $3, @$); }
        ;
config_setting
        : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | names '=' expr                        { $$ = node(p, AST_LET, @$, KIDS($1, $3)); }
        | CHECKPOINT expr                       { $$ = node(p, AST_CHECKPOINT_USE, @$, KIDS($2)); }
        | LOOP NAME '{' config_settings '}'     { $$ = name_tree(retagged($4, AST_LOOP, @$), $2, @2); }
        | LOOP NAME NONE                        { $$ = name_tree(node(p, AST_LOOP_NONE, @$, NO_KIDS), $2, @2); }
        | settings_if
        ;
settings_if
        : IF expr '{' config_settings '}'       { $$ = node(p, AST_IF, @$, KIDS($2, $4, NULL)); }
        | IF expr '{' config_settings '}' ELSE '{' config_settings '}'
                                                { $$ = node(p, AST_IF, @$, KIDS($2, $4, $8)); }
        | IF expr '{' config_settings '}' ELSE settings_if
                                                { $$ = node(p, AST_IF, @$, KIDS($2, $4, $7)); }
        ;
/* --- statements ---------------------------------------------------------------------------- */
body    : '{' statements '}'                    { $$ = spanning($2, @$); yyerrok; }
        ;
statements
        : statement                             { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | statements sep statement              { $$ = append_kid(p, $1, $3, @$); }
        ;
statement
        : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | block_statement
        | block
        ;
block_statement
        : names '=' expr                        { $$ = node(p, AST_LET, @$, KIDS($1, $3)); }
        | declaration
        | SHARED NAME '=' expr                  { $$ = name_tree(node(p, AST_SHARED, @$, KIDS($4)), $2, @2); }
        | RETURN expressions                    { $$ = retagged($2, AST_RETURN, @$); }
        | REQUIRE expr                          { $$ = node(p, AST_REQUIRE, @$, KIDS($2, NULL, NULL)); }
        | REQUIRE expr ',' string               { $$ = node(p, AST_REQUIRE, @$, KIDS($2, NULL, $4)); }
        | REQUIRE expr WITHIN expr              { $$ = node(p, AST_REQUIRE, @$, KIDS($2, $4, NULL)); }
        | REQUIRE expr WITHIN expr ',' string   { $$ = node(p, AST_REQUIRE, @$, KIDS($2, $4, $6)); }
        | REPEAT each ':' expr body             { $$ = node(p, AST_REPEAT, @$, KIDS($2, $4, $5)); }
        | INPUT declaration                     { $$ = node(p, AST_INPUT, @$, KIDS($2)); }
        | INPUT NAME '{' fields '}'             { $$ = name_tree(retagged($4, AST_INPUT, @$), $2, @2); }
        | OUTPUT NAME '=' expr                  { $$ = name_tree(node(p, AST_OUTPUT, @$, KIDS($4)), $2, @2); }
        | if_statement
        ;
if_statement
        : IF expr body                          { $$ = node(p, AST_IF, @$, KIDS($2, $3, NULL)); }
        | IF expr body ELSE body                { $$ = node(p, AST_IF, @$, KIDS($2, $3, $5)); }
        | IF expr body ELSE if_statement        { $$ = node(p, AST_IF, @$, KIDS($2, $3, $5)); }
        ;
each    : NAME                                  { $$ = name_tree(node(p, AST_EACH, @$, KIDS(NULL)), $1, @1); }
        | NAME '[' name ']'                     { $$ = name_tree(node(p, AST_EACH, @$, KIDS($3)), $1, @1); }
        ;
declaration
        : names ':' type default                { $$ = node(p, AST_DECL, @$, KIDS($1, $3, $4)); }
        ;
names   : name                                  { $$ = append_kid(p, node(p, AST_NAMES, @$, NO_KIDS), $1, @$); }
        | names ',' name                        { $$ = append_kid(p, $1, $3, @$); }
        ;
fields  : field                                 { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | fields sep field                      { $$ = append_kid(p, $1, $3, @$); }
        ;
field   : %empty                                { $$ = NULL; }
        | error                                 { $$ = NULL; }
        | declaration
        ;
expressions
        : expr                                  { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | expressions ',' expr                  { $$ = append_kid(p, $1, $3, @$); }
        ;
/* --- a model's body adds settings (name value, several to a line), checkpoints and loops ---- */
model_statements
        : model_statement                       { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | settings
        | model_statements sep model_statement  { $$ = append_kid(p, $1, $3, @$); }
        | model_statements sep settings         { $$ = append_all(p, $1, $3, @$); }
        ;
model_statement
        : statement
        | CHECKPOINT '{' entries '}'            { $$ = node(p, AST_CHECKPOINT, @$, KIDS(NULL, $3)); }
        | CHECKPOINT expr                       { $$ = node(p, AST_CHECKPOINT_USE, @$, KIDS($2)); }
        | LOOP NAME '{' knobs '}'               { $$ = name_tree(retagged($4, AST_LOOP, @$), $2, @2); }
        | LOOP NAME NONE                        { $$ = name_tree(node(p, AST_LOOP_NONE, @$, NO_KIDS), $2, @2); }
        ;
knobs   : knob
        | knobs sep knob                        { $$ = append_all(p, $1, $3, @$); }
        ;
knob    : %empty                                { $$ = node(p, AST_DO, @$, NO_KIDS); }
        | error                                 { $$ = node(p, AST_DO, @$, NO_KIDS); }
        | settings
        ;
settings: setting                               { $$ = append_kid(p, node(p, AST_DO, @$, NO_KIDS), $1, @$); }
        | settings setting                      { $$ = append_kid(p, $1, $2, @$); }
        ;
setting : NAME expr                             { $$ = name_tree(node(p, AST_SETTING, @$, KIDS($2)), $1, @1); }
        ;
/* --- expressions, loosest first ------------------------------------------------------------ */
expr    : IF expr THEN expr ELSE expr           { $$ = node(p, AST_COND, @$, KIDS($2, $4, $6)); }
        | or_expr
        ;
or_expr : and_expr
        | or_expr OR and_expr                   { $$ = node(p, AST_OR, @$, KIDS($1, $3)); }
        ;
and_expr: not_expr
        | and_expr AND not_expr                 { $$ = node(p, AST_AND, @$, KIDS($1, $3)); }
        ;
not_expr: comparison
        | NOT not_expr                          { $$ = node(p, AST_NOT, @$, KIDS($2)); }
        ;
comparison
        : sum
        | sum EQ sum                            { $$ = node(p, AST_EQ, @$, KIDS($1, $3)); }
        | sum NE sum                            { $$ = node(p, AST_NE, @$, KIDS($1, $3)); }
        | sum '<' sum                           { $$ = node(p, AST_LT, @$, KIDS($1, $3)); }
        | sum '>' sum                           { $$ = node(p, AST_GT, @$, KIDS($1, $3)); }
        | sum LE sum                            { $$ = node(p, AST_LE, @$, KIDS($1, $3)); }
        | sum GE sum                            { $$ = node(p, AST_GE, @$, KIDS($1, $3)); }
        ;
sum     : product
        | sum '+' product                       { $$ = node(p, AST_ADD, @$, KIDS($1, $3)); }
        | sum '-' product                       { $$ = node(p, AST_SUB, @$, KIDS($1, $3)); }
        ;
product : unary
        | product '*' unary                     { $$ = node(p, AST_MUL, @$, KIDS($1, $3)); }
        | product '/' unary                     { $$ = node(p, AST_DIV, @$, KIDS($1, $3)); }
        | product FLOORDIV unary                { $$ = node(p, AST_FLOORDIV, @$, KIDS($1, $3)); }
        | product '%' unary                     { $$ = node(p, AST_MOD, @$, KIDS($1, $3)); }
        | product '@' unary                     { $$ = node(p, AST_MATMUL, @$, KIDS($1, $3)); }
        ;
unary   : power
        | '-' unary                             { $$ = node(p, AST_NEG, @$, KIDS($2)); }
        ;
power   : postfix
        | postfix '^' unary                     { $$ = node(p, AST_POW, @$, KIDS($1, $3)); }
        ;
postfix : primary
        | postfix '\''                          { $$ = node(p, AST_TRANSPOSE, @$, KIDS($1)); }
        | postfix '.' NAME                      { $$ = name_tree(node(p, AST_FIELD, @$, KIDS($1)), $3, @3); }
        | postfix '(' args ')'                  { $$ = headed(p, $3, @$, $1); }
        | postfix '[' index ']'                 { $$ = headed(p, $3, @$, $1); }
        | postfix AS NAME                       { $$ = name_tree(node(p, AST_AS, @$, KIDS($1)), $3, @3); }
        | OVER each ':' sum body                { $$ = node(p, AST_OVER, @$, KIDS($2, $4, $5)); }
        | ALONG NAME ':' sum body
                { $$ = node(p, AST_ALONG, @$, KIDS(name_tree(node(p, AST_EACH, @2, KIDS(NULL)), $2, @2), $4, $5)); }
        ;
primary : name
        | string
        | NUMBER
        | TRUE                                  { $$ = node(p, AST_TRUE, @$, NO_KIDS); }
        | FALSE                                 { $$ = node(p, AST_FALSE, @$, NO_KIDS); }
        | NONE                                  { $$ = node(p, AST_NONE, @$, NO_KIDS); }
        | '(' expr ')'                          { $$ = $2; }
        | '[' elements ']'                      { $$ = spanning($2, @$); }
        ;
elements: %empty                                { $$ = node(p, AST_LIST, @$, NO_KIDS); }
        | element_list comma
        ;
element_list
        : element                               { $$ = append_kid(p, node(p, AST_LIST, @$, NO_KIDS), $1, @$); }
        | element_list ',' element              { $$ = append_kid(p, $1, $3, @$); }
        ;
element : expr
        | RANGE                                 { $$ = node(p, AST_RANGE, @$, KIDS(NULL, NULL)); }
        ;
args    : %empty                                { $$ = node(p, AST_CALL, @$, KIDS(NULL)); }
        | arg_list comma
        ;
arg_list: arg                                   { $$ = append_kid(p, node(p, AST_CALL, @$, KIDS(NULL)), $1, @$); }
        | arg_list ',' arg                      { $$ = append_kid(p, $1, $3, @$); }
        ;
arg     : expr                                  { $$ = node(p, AST_ARG, @$, KIDS($1)); }
        | NAME ':' expr                         { $$ = name_tree(node(p, AST_ARG, @$, KIDS($3)), $1, @1); }
        | NAME ':'                              { $$ = name_tree(node(p, AST_ARG, @$, KIDS(NULL)), $1, @1); }
        ;
index   : %empty                                { $$ = node(p, AST_INDEX, @$, KIDS(NULL)); }
        | index_list comma
        ;
index_list
        : index_part
                                { $$ = append_kid(p, node(p, AST_INDEX, @$, KIDS(NULL)), $1, @$); }
        | index_list ',' index_part             { $$ = append_kid(p, $1, $3, @$); }
        ;
index_part
        : expr
        | RANGE                                 { $$ = node(p, AST_RANGE, @$, KIDS(NULL, NULL)); }
        | expr RANGE expr                       { $$ = node(p, AST_RANGE, @$, KIDS($1, $3)); }
        | expr RANGE                            { $$ = node(p, AST_RANGE, @$, KIDS($1, NULL)); }
        | RANGE expr                            { $$ = node(p, AST_RANGE, @$, KIDS(NULL, $2)); }
        ;
%%
/* Bison calls this for want of memory alone: the stack has reached YYMAXDEPTH. */
static void yyerror(const Span *span, Parser *p, const char *message)
{
        (void)message;
        syntax_error(p, *span, "nested too deeply to be read");
        p->stopped = true;
}

static int yyreport_syntax_error(const yypcontext_t *context, Parser *p)
{
        const char *expected[YYNTOKENS];
        yysymbol_kind_t kind[YYNTOKENS];
        int n = yypcontext_expected_tokens(context, kind, YYNTOKENS);
        for (int i = 0; i < n; i++) expected[i] = yysymbol_name(kind[i]);
        yysymbol_kind_t found = yypcontext_token(context);
        report_unexpected(p, found == YYSYMBOL_YYEMPTY ? "" : yysymbol_name(found), expected, n);
        return 0;
}
