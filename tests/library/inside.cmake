
# a second model in the same program, with its weights inside
lathe_add_model(inside MODEL ${models}/tale.model INSTRUCTIONS ${INSTRUCTIONS} INCBIN OPTIONS -D layers=1)
add_executable(within ../../within.c)
target_link_libraries(within inside tale)
